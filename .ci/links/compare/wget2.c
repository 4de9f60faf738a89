// wget2 <NAMES
// Prints what wget2 finds in each of the HTML files whose names it reads, one a line:
// the file, "wget2", the element and its attribute, and the URL, with tabs between. It
// calls what wget2 calls for a page (wget_html_get_urls_inline), and makes URLs of it in
// the same steps: references that begin with # are skipped, escapes are resolved, and
// other encodings are converted to UTF-8.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <wget.h>

static int absolute(wget_iri_t *base, const wget_string_t *url, const char *encoding, wget_buffer_t *buf) {
	char *part, *utf8 = NULL;
	size_t n;
	int ok = 0;

	if (url->len == 0 || *url->p == '#')
		return 0;
	part = wget_strmemdup(url->p, url->len);
	wget_iri_unescape_url_inline(part);
	if (wget_memiconv(encoding, part, strlen(part), "utf-8", &utf8, &n) == 0)
		ok = wget_iri_relative_to_abs(base, utf8, n, buf) != NULL;
	free(utf8);
	free(part);
	return ok;
}

static void page(const char *name) {
	size_t n;
	char *html = wget_read_file(name, &n), *text = html, own[4096 + 32];
	const char *encoding = NULL;
	wget_iri_t *base, *other = NULL;
	wget_html_parsed_result_t *found;
	wget_buffer_t *buf = wget_buffer_alloc(1024);

	if (!html) {
		perror(name);
		exit(1);
	}
	if (n >= 3 && memcmp(html, "\xEF\xBB\xBF", 3) == 0) {
		encoding = "UTF-8";
		text += 3;
	}
	snprintf(own, sizeof own, "http://docs.test%s", name);
	base = wget_iri_parse(own, "utf-8");
	found = wget_html_get_urls_inline(text, NULL, NULL);
	if (!encoding)
		encoding = found->encoding ? found->encoding : "CP1252";
	if (found->base.p && absolute(base, &found->base, encoding, buf))
		other = wget_iri_parse(buf->data, "utf-8");
	for (int i = 0; i < wget_vector_size(found->uris); i++) {
		wget_html_parsed_url_t *u = wget_vector_get(found->uris, i);
		if (strcasecmp(u->attr, "action") == 0 || strcasecmp(u->attr, "formaction") == 0)
			continue; // wget2 does not follow them
		if (!absolute(other ? other : base, &u->url, encoding, buf))
			continue;
		for (char *p = buf->data; *p; p++)
			if (*p == '\t' || *p == '\n' || *p == '\r')
				*p = ' ';
		printf("%s\twget2\t%s/%s\t%s\n", name, u->dir, u->attr, buf->data);
	}
	wget_html_free_urls_inline(&found);
	wget_iri_free(&other);
	wget_iri_free(&base);
	wget_buffer_free(&buf);
	free(html);
}

int main(void) {
	char name[4096];

	while (fgets(name, sizeof name, stdin)) {
		name[strcspn(name, "\n")] = 0;
		page(name);
	}
	return 0;
}
