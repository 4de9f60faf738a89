package frontier

import "testing"

func TestWhatHopsSayOfAnEntry(t *testing.T) {
	for hops, want := range map[string]struct {
		redirects, embeds int
		sitemap, fromSeed bool
	}{
		"":         {0, 0, false, true},
		"R":        {1, 0, false, true},
		"RRR":      {3, 0, false, true},
		"L":        {0, 0, false, false},
		"LR":       {1, 0, false, false},
		"RL":       {0, 0, false, false},
		"M":        {0, 0, true, false},
		"LPMR":     {1, 0, true, false},
		"PMM":      {0, 0, true, false},
		"PML":      {0, 0, false, false},
		"PMLE":     {0, 1, false, false},
		"E":        {0, 1, false, false},
		"LE":       {0, 1, false, false},
		"LERR":     {2, 1, false, false},
		"RE":       {0, 1, false, false},
		"LEE":      {0, 2, false, false},
		"EE":       {0, 2, false, false},
		"LERE":     {0, 2, false, false},
		"LRERERER": {1, 3, false, false},
		"LEL":      {0, 0, false, false},
		"LELE":     {0, 1, false, false},
		"LRLER":    {1, 1, false, false},
	} {
		e := Entry{Hops: hops}
		if e.Redirects() != want.redirects || e.Embeds() != want.embeds || e.Requisite() != (want.embeds > 0) || e.FromSeed() != want.fromSeed || e.Sitemap() != want.sitemap || e.Page() == (e.Requisite() || e.Sitemap()) {
			t.Errorf("%q: %d redirects, %d embeds, requisite %v, sitemap %v, page %v, from a seed %v; want %v", hops, e.Redirects(), e.Embeds(), e.Requisite(), e.Sitemap(), e.Page(), e.FromSeed(), want)
		}
	}
}

func TestWhatIsFoundHasItsWayFromTheSeed(t *testing.T) {
	seed := Entry{URL: mustParse(t, "http://a.example/"), Tag: "tag", Tries: 3, ID: 7}
	u := mustParse(t, "http://b.example/")
	for _, hop := range []Hop{HopLink, HopEmbed, HopRedirect, HopManifest} {
		want := Entry{URL: u, Via: "http://a.example/", Hops: string(hop), Tag: "tag"}
		if hop == HopLink {
			want.Depth, want.Rank = 1, 1
		}
		if got := seed.Found(u, hop); got != want {
			t.Errorf("%c: %+v, want %+v", hop, got, want)
		}
	}
	seed.Head, seed.ByGet = true, true
	for _, hop := range []Hop{HopLink, HopEmbed, HopRedirect, HopManifest} {
		if got := seed.Found(u, hop); got.Head != (hop == HopRedirect) || got.ByGet {
			t.Errorf("%c of an entry with Head: %+v", hop, got)
		}
	}
	for depth, want := range map[int]uint8{0: 0, 7: 7, 255: 255, 256: 255, 1000: 255} {
		if got := RankOf(depth); got != want {
			t.Errorf("the rank at depth %d is %d, want %d", depth, got, want)
		}
	}
}

// Fate.Page is true for the fates that budgets count as pages. Each fate has a name.
func TestFates(t *testing.T) {
	for _, tc := range []struct {
		fate Fate
		page bool
		name string
	}{
		{Fate{Code: Fetched, Status: 199}, false, "fetched"},
		{Fate{Code: Fetched, Status: 200}, true, "fetched"},
		{Fate{Code: Fetched, Status: 299}, true, "fetched"},
		{Fate{Code: Fetched, Status: 300}, false, "fetched"},
		{Fate{Code: Failed, Status: 200}, false, "failed"},
		{Fate{}, false, "undecided"},
		{Fate{Code: Waiting}, false, "waiting"},
		{Fate{Code: UseRefused}, false, "use"},
		{Fate{Code: UseRefused, Status: 200}, true, "use"},
		{Fate{Code: OptedOut}, false, "optout"},
		{Fate{Code: endOfCodes}, false, "code 25"},
	} {
		if tc.fate.Page() != tc.page || tc.fate.Code.String() != tc.name {
			t.Errorf("%+v: page %v, %q", tc.fate, tc.fate.Page(), tc.fate.Code)
		}
	}
}

// Entries with equal keys are the same. If Same is set to a page of the entry's site, the entry
// has the key of that page. Entries with Apart share keys only with other entries with Apart.
func TestTheKeyOfAnEntry(t *testing.T) {
	url := func(raw string) URL { return mustParse(t, raw) }
	for _, tc := range []struct{ url, same, want string }{
		{"http://a.example/x?utm=1", "", "http://a.example/x?utm=1"},
		{"http://a.example/%7ex?utm=1", "", "http://a.example/~x?utm=1"},
		{"http://a.example/x?utm=1", "http://a.example/%7ex", "http://a.example/~x"},
		{"http://a.example/x?utm=1", "http://b.example/x", "http://a.example/x?utm=1"},
		{"http://a.example/x?utm=1", "https://a.example/x", "http://a.example/x?utm=1"},
		{"http://a.example/%7ex", "http://a.example/%7ex", "http://a.example/~x"},
	} {
		e := Entry{URL: url(tc.url)}
		if tc.same != "" {
			e.Same = url(tc.same)
		}
		if got := e.Key(); got != tc.want {
			t.Errorf("%s, same as %q: key %q, want %q", tc.url, tc.same, got, tc.want)
		}
		if e.Apart = true; e.Key() != "="+e.URL.Key() {
			t.Errorf("%s, kept apart: key %q", tc.url, e.Key())
		}
	}
	e := Entry{URL: url("http://a.example/x"), Same: url("http://a.example/y"), Apart: true}
	if f := e.Found(url("http://a.example/z"), HopRedirect); !f.Same.IsZero() || f.Apart {
		t.Errorf("an entry found on it has the Same %s", f.Same)
	}
	e.Apart = false
	if n := testing.AllocsPerRun(100, func() { _ = e.Key() }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
