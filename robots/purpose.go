package robots

import (
	"fmt"
	"slices"
)

// A Purpose is the purpose of a crawl, as its user declares it. The empty Purpose means that none
// was declared; no statement refuses it.
type Purpose string

// The purposes that can be declared.
const (
	PurposeArchive   Purpose = "archive"   // pages are kept and shown again
	PurposeResearch  Purpose = "research"  // the content of pages is analysed
	PurposeSearch    Purpose = "search"    // pages are indexed for a search engine
	PurposeLinkCheck Purpose = "linkcheck" // links are tested, and no content is used
	PurposeAITrain   Purpose = "ai-train"  // pages are used to train models
	PurposeAIInput   Purpose = "ai-input"  // pages are given to models to answer questions
)

var purposes = [...]Purpose{PurposeArchive, PurposeResearch, PurposeSearch, PurposeLinkCheck, PurposeAITrain, PurposeAIInput}

// Purposes returns all purposes that can be declared.
func Purposes() []Purpose { return slices.Clone(purposes[:]) }

// Check returns an error if p is neither empty nor one of Purposes. No statement would refuse an
// unknown purpose.
func (p Purpose) Check() error {
	if p == "" || slices.Contains(purposes[:], p) {
		return nil
	}
	return fmt.Errorf("%q is not one of %q", string(p), purposes)
}

// Uses returns the uses that p makes of a page. A statement that refuses one of these uses refuses
// the purpose. Two purposes also make the use of text and data mining: training a model, and
// answering with a model.
func (p Purpose) Uses() []Use { return slices.Clone(p.uses()) }

var (
	usesOfArchive  = []Use{UseArchive}
	usesOfResearch = []Use{UseTDM}
	usesOfSearch   = []Use{UseSearch}
	usesOfAITrain  = []Use{UseAITrain, UseTDM}
	usesOfAIInput  = []Use{UseAIInput, UseTDM}
)

func (p Purpose) uses() []Use {
	switch p {
	case PurposeArchive:
		return usesOfArchive
	case PurposeResearch:
		return usesOfResearch
	case PurposeSearch:
		return usesOfSearch
	case PurposeAITrain:
		return usesOfAITrain
	case PurposeAIInput:
		return usesOfAIInput
	}
	return nil
}
