/* SPDX-License-Identifier: Apache-2.0 */
/* empty.c - a main for the link test: every layer must link with nothing but the layers below it */
int main(void)
{
	return 0;
}
