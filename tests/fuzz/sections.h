/* sections.h - the program's variables in sections of their own, for cli.c */
#pragma clang section bss = "tool_bss" data = "tool_data"
