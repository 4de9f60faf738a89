package robots

import (
	"fmt"
	"slices"
)

// A Purpose is the purpose of a crawl, as its user declares it. No statement
// refuses the empty Purpose.
type Purpose string

// The purposes.
const (
	PurposeArchive   Purpose = "archive"   // pages are kept, and shown again
	PurposeResearch  Purpose = "research"  // pages are analysed
	PurposeSearch    Purpose = "search"    // pages are indexed
	PurposeLinkCheck Purpose = "linkcheck" // links are tested; no content is used
	PurposeAITrain   Purpose = "ai-train"  // models are trained with pages
	PurposeAIInput   Purpose = "ai-input"  // models use pages to answer questions
)

var purposes = [...]Purpose{PurposeArchive, PurposeResearch, PurposeSearch, PurposeLinkCheck, PurposeAITrain, PurposeAIInput}

// Purposes returns all purposes that can be declared.
func Purposes() []Purpose { return slices.Clone(purposes[:]) }

// Check returns an error if p is neither empty nor one of Purposes, because no statement would
// refuse an unknown purpose.
func (p Purpose) Check() error {
	if p == "" || slices.Contains(purposes[:], p) {
		return nil
	}
	return fmt.Errorf("%q is not one of %q", string(p), purposes)
}

// Uses returns the uses that p makes of a page. A statement that refuses one of these uses
// refuses the purpose. Training a model is also text and data mining, and so is answering with
// a model.
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
