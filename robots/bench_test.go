package robots

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/temoto/robotstxt"
)

// benchCase is one robots.txt and the targets to match with it.
type benchCase struct {
	name    string
	body    string
	agent   string
	targets []string
}

func benchCases(t testing.TB) []benchCase {
	return []benchCase{typicalCase(), largeCase(), hostileCase()}
}

// typicalCase is a file of forty lines, like that of a shop.
func typicalCase() benchCase {
	body := `# robots.txt of a shop
User-agent: *
Disallow: /admin/
Disallow: /cart
Disallow: /checkout/
Disallow: /customer/account/
Disallow: /search
Disallow: /wishlist/
Disallow: /compare/
Disallow: /newsletter/
Disallow: /review/
Disallow: /sendfriend/
Disallow: /tag/
Disallow: /includes/
Disallow: /lib/
Disallow: /pkginfo/
Disallow: /report/
Disallow: /var/
Disallow: /cron.php
Disallow: /error_log
Disallow: /install.php
Disallow: /LICENSE.html
Disallow: /*.sql$
Disallow: /*?sort=
Disallow: /*?dir=
Disallow: /*&limit=
Allow: /media/catalog/
Allow: /search/about
Allow: /*.css$
Allow: /*.js$

User-agent: badbot
User-agent: worsebot
Disallow: /

User-agent: slowbot
Crawl-delay: 10
Disallow: /private/

# end
Sitemap: https://shop.example/sitemap.xml
`
	return benchCase{"typical", body, "wrenbot", []string{
		"/",
		"/shoes/running/model-17.html",
		"/customer/account/login",
		"/shoes?sort=price&page=2",
		"/media/catalog/product/1/2/12345.jpg",
	}}
}

// largeCase has 2,400 rules, a quarter of them with wildcards.
func largeCase() benchCase {
	r := rand.New(rand.NewPCG(1, 2))
	word := func() string {
		b := make([]byte, 4+r.IntN(8))
		for i := range b {
			b[i] = byte('a' + r.IntN(26))
		}
		return string(b)
	}
	var sb strings.Builder
	sb.WriteString("User-agent: *\n")
	var targets []string
	for i := range 2400 {
		path := "/" + word() + "/" + word()
		if i%4 == 0 {
			switch r.IntN(4) {
			case 0:
				path = "/*?" + word() + "="
			case 1:
				path = "/*/" + word() + "/*.html$"
			case 2:
				path = "/" + word() + "/*/" + word()
			case 3:
				path = "/*." + word() + "$"
			}
		}
		key := "Disallow: "
		if r.IntN(10) == 0 {
			key = "Allow: "
		}
		sb.WriteString(key + path + "\n")
		if i%240 == 1 {
			targets = append(targets, strings.NewReplacer("*", word(), "$", "").Replace(path)+"/page-"+word()+".html")
		}
	}
	targets = append(targets, "/", "/catalogue/shoes/running/model-17.html?colour=red&size=42")
	return benchCase{"2400-rules", sb.String(), "wrenbot", targets}
}

// hostileCase is a rule with 25 wildcards against a path of 2 KB that it
// nearly matches.
func hostileCase() benchCase {
	return benchCase{"25-stars",
		"User-agent: *\nDisallow: /" + strings.Repeat("*a", 25) + "$\n", "wrenbot",
		[]string{"/" + strings.Repeat("a", 2000) + "b"}}
}

// Each benchmark runs for permesso and for temoto. Compare the two within one run.
func BenchmarkMatch(b *testing.B) {
	for _, c := range benchCases(b) {
		b.Run(c.name+"/permesso", func(b *testing.B) {
			g := Parse([]byte(c.body), RFC9309).Group(c.agent)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				g.Match(c.targets[i%len(c.targets)])
			}
		})
		b.Run(c.name+"/temoto", func(b *testing.B) {
			r, err := robotstxt.FromBytes([]byte(c.body))
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				r.TestAgent(c.targets[i%len(c.targets)], c.agent)
			}
		})
	}
}

// Permesso compiles the rules of one crawler, and temoto those of all crawlers.
func BenchmarkParse(b *testing.B) {
	for _, c := range benchCases(b) {
		body := []byte(c.body)
		perKiB := func(b *testing.B) {
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(float64(len(body))/1024), "ns/KiB")
		}
		b.Run(c.name+"/permesso", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Parse(body, RFC9309).Group(c.agent)
			}
			perKiB(b)
		})
		b.Run(c.name+"/permesso-Parse", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Parse(body, RFC9309)
			}
			perKiB(b)
		})
		b.Run(c.name+"/temoto", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := robotstxt.FromBytes(body); err != nil {
					b.Fatal(err)
				}
			}
			perKiB(b)
		})
	}
}
