/*
 * report_html.c - what all pages have: the head, the end, tiles and bars
 *
 * A page is HTML that is well-formed XML, too. It loads nothing. Its policy lets only this very
 * style and this very script act, named by their SHA-256, so text of others could not even if it
 * were not escaped.
 */
#include "numbers.h"
#include "report.h"

#include <math.h>
#include <sodium.h>

static const char *digest(const char *text)
{
	static char ret[sodium_base64_ENCODED_LEN(crypto_hash_sha256_BYTES,
						  sodium_base64_VARIANT_ORIGINAL)];
	unsigned char hash[crypto_hash_sha256_BYTES];

	crypto_hash_sha256(hash, (const unsigned char *)text, strlen(text));
	return sodium_bin2base64(ret, sizeof(ret), hash, sizeof(hash),
				 sodium_base64_VARIANT_ORIGINAL);
}

void html_begin(FILE *out, const char *about, const char *name)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n"
	      "<meta charset=\"utf-8\"/>\n<meta http-equiv=\"Content-Security-Policy\" "
	      "content=\"default-src 'none'; style-src 'sha256-", out);
	fputs(digest(report_style), out);
	fprintf(out, "'; script-src 'sha256-%s'\"/>\n", digest(report_script));
	fputs("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
	      "<meta name=\"generator\" content=\"bloomery " BLM_VERSION "\"/>\n<title>Bloomery: ",
	      out);
	html_text(out, name);
	fprintf(out, "</title>\n<style>%s</style>\n</head>\n<body>\n<h1>%s <bdi>", report_style,
		about);
	html_text(out, name);
	fputs("</bdi></h1>\n", out);
}

void html_end(FILE *out)
{
	fprintf(out, "<script>%s</script>\n</body>\n</html>\n", report_script);
}

void html_tile(FILE *out, const char *value, const char *what, const char *class)
{
	fprintf(out, "<div%s><dt>%s</dt><dd>%s</dd></div>\n", class, what, value);
}

void html_worry(FILE *out, size_t count, const char *what)
{
	char text[40];

	snprintf(text, sizeof(text), "%s%s", count ? "! " : "", show_count(count));
	html_tile(out, text, what, count ? " class=\"w\"" : "");
}

void html_bar(FILE *out, double share)
{
	fprintf(out, "<svg class=\"b\" aria-hidden=\"true\"><rect width=\"%.0f%%\" "
		"height=\"100%%\"/></svg>", 100 * fmin(fmax(share, 0), 1));
}
