/*
 * nothing.c - a program that does nothing: what it takes to start one, by the libraries that it is
 * linked with
 */
int main(void)
{
	return 0;
}
