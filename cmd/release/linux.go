package main

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// imageUser owns the crawls in a container.
const imageUser = 65532

// rootfs returns the root directory of the container image, as a tar archive. All that the
// program needs besides its own file are the certificates of the authorities that sign the
// certificates of servers.
func (r *release) rootfs(b built) ([]byte, error) {
	license, err := r.source("LICENSE")
	if err != nil {
		return nil, err
	}
	const doc = "usr/share/doc/permesso/"
	return tarred([]file{
		{name: "crawls/", owner: imageUser},
		{name: "etc/group", data: fmt.Appendf(nil, "root:x:0:\npermesso:x:%d:\n", imageUser)},
		{name: "etc/passwd", data: fmt.Appendf(nil, "root:x:0:0:root:/:/sbin/nologin\npermesso:x:%d:%d:permesso:/crawls:/sbin/nologin\n", imageUser, imageUser)},
		{name: "etc/ssl/certs/ca-certificates.crt", data: certificates()},
		{name: "tmp/", mode: 0o777 | fs.ModeSticky},
		{name: "usr/bin/crawl", data: b.program, mode: 0o755},
		{name: doc + "LICENSE", data: license}, {name: doc + "sbom.cdx.json", data: b.sbom}, {name: doc + "third-party-licenses.txt", data: b.licenses},
	}, r.time)
}

// certificates returns the roots of Mozilla that need no restriction besides the certificate
// itself, because a file of certificates cannot have one.
func certificates() []byte {
	var b bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			b.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
		}
	}
	return b.Bytes()
}

// maintainer is the address in the Debian package.
const maintainer = "The permesso authors <permesso-crawler@users.noreply.github.com>"

// debianVersion returns the version of the Debian package: a version before a release sorts
// before it.
func debianVersion(version string) string { return strings.Replace(version, "-", "~", 1) }

// debian returns the Debian package with the files of an archive, and the name of its file.
func (r *release) debian(b built, content []file) (data []byte, name string, err error) {
	all, err := r.debianFiles(content)
	if err != nil {
		return nil, "", err
	}
	// The library reads files from a directory.
	staging := filepath.Join(r.temp, "debian_"+b.arch)
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: "permesso", Arch: b.arch, Platform: "linux", Version: debianVersion(r.version), VersionSchema: "none", Section: "web", Priority: "optional",
		Maintainer: maintainer, Homepage: "https://github.com/permesso-crawler/permesso", MTime: r.time, DisableGlobbing: true,
		Description: `polite web crawler
crawl fetches the pages of sites politely: it reads robots.txt first, waits
between two requests to a site, and continues where it stopped, even after a
kill. It writes WARC archives, JSON lines for each page, CSV, Parquet, text
and Markdown, and logs why a URL was not fetched.`,
		Overridables: nfpm.Overridables{Depends: []string{"adduser"}, Recommends: []string{"ca-certificates"}, Umask: 0o022},
	})
	for _, f := range all {
		at := filepath.Join(staging, filepath.FromSlash(f.name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return nil, "", err
		}
		c := &files.Content{Destination: "/" + f.name, Type: files.TypeFile, FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: f.permissions(), MTime: r.time}}
		if f.isDir() {
			c.Type, c.Destination = files.TypeDir, strings.TrimSuffix(c.Destination, "/")
		} else if err := os.WriteFile(at, f.data, 0o644); err != nil {
			return nil, "", err
		} else {
			c.Source = at
		}
		info.Contents = append(info.Contents, c)
	}
	scripts := filepath.Join(r.root, "cmd", "release", "debian")
	info.Scripts = nfpm.Scripts{PostInstall: filepath.Join(scripts, "postinst"), PreRemove: filepath.Join(scripts, "prerm"), PostRemove: filepath.Join(scripts, "postrm")}
	var out bytes.Buffer
	if err := deb.Default.Package(info, &out); err != nil {
		return nil, "", fmt.Errorf("the Debian package: %w", err)
	}
	return out.Bytes(), fmt.Sprintf("permesso_%s_%s.deb", debianVersion(r.version), b.arch), nil
}

// completionPaths are the paths of completions in a Debian package.
var completionPaths = map[string]string{
	"completions/crawl.bash": "usr/share/bash-completion/completions/crawl",
	"completions/crawl.fish": "usr/share/fish/vendor_completions.d/crawl.fish",
	"completions/_crawl":     "usr/share/zsh/vendor-completions/_crawl",
}

// debianFiles returns the files of the Debian package, which are those of an archive at their
// places in Debian.
func (r *release) debianFiles(content []file) (all []file, err error) {
	const doc = "usr/share/doc/permesso/"
	zipped := func(name string, data []byte) {
		packed, zerr := gzipped(data)
		if zerr != nil {
			err = zerr
		}
		all = append(all, file{name: name + ".gz", data: packed})
	}
	for _, f := range content {
		switch dir, base := path.Split(f.name); {
		case f.name == "crawl":
			all = append(all, file{name: "usr/bin/crawl", data: f.data, mode: 0o755})
		case f.name == "LICENSE":
			all = append(all, file{name: doc + "copyright", data: copyright(f.data)})
		case f.name == "CHANGELOG.md":
			zipped(doc+"changelog", f.data)
		case dir == "man/man1/":
			zipped("usr/share/"+f.name, f.data)
		case dir == "systemd/":
			all = append(all, file{name: "usr/lib/systemd/system/" + base, data: f.data})
		case completionPaths[f.name] != "":
			all = append(all, file{name: completionPaths[f.name], data: f.data})
		case dir == "" && base == "README.md":
			all = append(all, file{name: doc + base, data: f.data})
		case dir == "":
			zipped(doc+base, f.data)
		}
	}
	zipped(doc+"changelog.Debian", debianChangelog(debianVersion(r.version), r.time))
	overrides, oerr := r.source("cmd/release/debian/lintian-overrides")
	if err == nil {
		err = oerr
	}
	all = append(all, file{name: "usr/share/lintian/overrides/permesso", data: overrides}, file{name: "etc/permesso/"})
	return all, err
}

func debianChangelog(version string, at time.Time) []byte {
	return fmt.Appendf(nil, "permesso (%s) unstable; urgency=medium\n\n  * /usr/share/doc/permesso/changelog.gz lists the changes.\n\n -- %s  %s\n", version, maintainer, at.Format(time.RFC1123Z))
}

// copyright returns the license in the format of Debian.
func copyright(license []byte) []byte {
	var b strings.Builder
	b.WriteString("Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n" +
		"Upstream-Name: permesso\nSource: https://github.com/permesso-crawler/permesso\n" +
		"Comment:\n The program contains modules of others. Their licenses are in third-party-licenses.txt.gz.\n\nFiles: *\n")
	_, rest, _ := strings.Cut(string(license), "Copyright (c) ")
	owner, text, _ := strings.Cut(rest, "\n")
	b.WriteString("Copyright: " + owner + "\nLicense: Expat\n")
	for line := range strings.Lines(strings.TrimSpace(text) + "\n") {
		if line = strings.TrimRight(line, "\n"); line == "" {
			line = "."
		}
		b.WriteString(" " + line + "\n")
	}
	return []byte(b.String())
}
