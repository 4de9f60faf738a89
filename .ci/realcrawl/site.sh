#!/bin/bash
# site.sh DIR PORT WALK_PORT [WWW]
# Writes the configuration of a throw-away nginx into DIR, and the seeds into
# DIR/seeds.txt, and becomes that nginx (in the foreground, on 127.0.0.1 only).
# PORT is logged to DIR/access.log, one JSON object per line, unbuffered;
# WALK_PORT serves the same hosts and logs nothing. WWW is a directory of more
# hosts: WWW/shown is shown.docs.test, WWW/cdn is cdn.docs.test.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
dir=$1 port=$2 walk=$3
mkdir -p "$dir/robots" "$dir/tmp"
dir=$(realpath "$dir")
PATH=$PATH:/usr/sbin

newest() { # the last of the existing files that a pattern names
	compgen -G "$1" | sort -V | tail -n 1
}

# Rules with wildcards and ends, of different lengths; all of them decide about
# real pages of the tree, or about links of entrance/index.html.
cat >"$dir/robots/apache.docs.test" <<'END'
User-agent: otherbot
Disallow: /

User-agent: *
Disallow: /*?print=
Allow: /manual/en/mod/mod_ssl.html?print=1$
Disallow: /manual/*/developer/
Allow: /manual/en/developer/
Disallow: /manual/en/developer/*t*s.html$
Allow: /manual/en/developer/output-filters.html$
Disallow: /manual/*/mod/mod_proxy_*.html$
Allow: /manual/fr/mod/mod_proxy_http*.html$
Disallow: /manual/de/faq/     # as long as the next one: allowed
Allow: /manual/d*/faq/
Disallow: /manual/tr$
Disallow: /manual/ru/*.html
Allow: /manual/ru/index.html
Disallow: /café
END

# A group for this crawler, in two parts and in another letter case; the group
# for all others closes the site.
cat >"$dir/robots/python.docs.test" <<'END'
User-agent: *
Disallow: /

User-agent: PermessoTest
Disallow: /whatsnew/
Allow: /whatsnew/3.1*.html$

User-agent: otherbot
User-agent: permessotest
Disallow: /library/*xml
Allow: /library/xml.dom.
END

printf 'User-agent: otherbot\nDisallow: /\n' >"$dir/robots/sqlite.docs.test"

cat >"$dir/robots/small.docs.test" <<'END'
User-agent: *
Crawl-delay: 1
Disallow: /policy.html/ap-pkg-con
END

cat >"$dir/seeds.txt" <<'END'
http://apache.docs.test/manual/
http://apache.docs.test/entrance/
http://python.docs.test/
http://postgresql.docs.test/
http://sqlite.docs.test/
http://small.docs.test/policy.html/
http://small.docs.test/perl-policy.html/
http://small.docs.test/menu-policy.html/
http://small.docs.test/README.html
http://small.docs.test/autopkgtest.html
http://small.docs.test/copyright-format-1.0.html
http://small.docs.test/debconf_specification.html
http://small.docs.test/fhs/fhs-3.0.html
http://small.docs.test/menu-policy-1.html
http://small.docs.test/perl-policy-1.html
http://small.docs.test/policy.html
http://small.docs.test/virtual-package-names-list.yaml.gz
END

server() { # NAME ROOT [DIRECTIVE...]
	cat <<-END
		server {
			listen 127.0.0.1:$port;
			listen 127.0.0.1:$walk;
			server_name $1;
			root $2;
			location = /robots.txt { alias $dir/robots/$1; default_type text/plain; }
			${*:3}
		}
	END
}

user=
[ "$(id -u)" != 0 ] || user='user root;' # only root may be able to read the trees
{
	cat <<-END
		$user
		daemon off;
		worker_processes 1;
		pid $dir/nginx.pid;
		error_log $dir/error.log;
		events { worker_connections 512; }
		http {
			include /etc/nginx/mime.types;
			client_body_temp_path $dir/tmp;
			proxy_temp_path $dir/tmp;
			fastcgi_temp_path $dir/tmp;
			uwsgi_temp_path $dir/tmp;
			scgi_temp_path $dir/tmp;
			absolute_redirect off;
			gzip on;
			map \$server_port \$logged { $port 1; default 0; }
			map \$server_port \$rate { $port 50k; default 0; }
			log_format requests escape=json '{"end":\$msec,"took":\$request_time,"host":"\$http_host","method":"\$request_method","uri":"\$request_uri","status":\$status,"agent":"\$http_user_agent"}';
			access_log $dir/access.log requests if=\$logged;
			server { listen 127.0.0.1:$port default_server; listen 127.0.0.1:$walk default_server; return 404; }
	END
	server apache.docs.test /usr/share/doc/apache2-doc \
		"location /entrance/ { root $here; }" \
		"location = /entrance/header.html { root $here; add_header X-Robots-Tag nofollow; }" \
		"location = /moved/open { return 301 /manual/en/install.html; }" \
		"location = /moved/closed { return 302 /manual/de/developer/index.html; }" \
		"location = /moved/away { return 301 http://postgresql.docs.test/index.html; }" \
		"location = /moved/round { return 302 /moved/round; }" \
		"location = /moved/outside { return 302 http://elsewhere.test/; }"
	server python.docs.test "$(newest '/usr/share/doc/python3.*/html')" \
		'location /c-api/ { gzip off; limit_rate $rate; } # slow bodies: two at once would be seen'
	server postgresql.docs.test "$(newest '/usr/share/doc/postgresql-doc-*/html')"
	server sqlite.docs.test /usr/share/doc/sqlite3
	server small.docs.test /usr/share/doc/debian-policy
	if [ -n "${4:-}" ]; then
		server shown.docs.test "$4/shown" \
			'location = /moved.png { return 302 http://cdn.docs.test/moved.png; }' \
			'location = /images.html { add_header Link "</header.png>; rel=preload; as=image"; }'
		# Browsers use fonts and images of masks only if their host allows it.
		server cdn.docs.test "$4/cdn" 'add_header Access-Control-Allow-Origin *;'
	fi
	echo '}'
} >"$dir/nginx.conf"

# Dies with the shell that started it, even if that one is killed.
exec setpriv --pdeathsig TERM nginx -p "$dir" -c "$dir/nginx.conf" -e "$dir/error.log"
