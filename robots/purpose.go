package robots

import (
	"fmt"
	"slices"
)

// A Purpose is what a crawl is for, as who runs it declares. The empty Purpose
// declares nothing, and nothing refuses it.
type Purpose string

// The purposes.
const (
	PurposeArchive   Purpose = "archive"   // pages are kept, and shown again
	PurposeResearch  Purpose = "research"  // pages are analysed
	PurposeSearch    Purpose = "search"    // pages are found by it
	PurposeLinkCheck Purpose = "linkcheck" // whether links lead anywhere: nothing of a page is used
	PurposeAITrain   Purpose = "ai-train"  // models are trained with pages
	PurposeAIInput   Purpose = "ai-input"  // models are given pages to answer from
)

var purposes = [...]Purpose{PurposeArchive, PurposeResearch, PurposeSearch, PurposeLinkCheck, PurposeAITrain, PurposeAIInput}

// Purposes are all purposes that can be declared.
func Purposes() []Purpose { return slices.Clone(purposes[:]) }

// Check reports whether p can be declared: a purpose that nobody knows would be
// refused by nothing.
func (p Purpose) Check() error {
	if p == "" || slices.Contains(purposes[:], p) {
		return nil
	}
	return fmt.Errorf("%q is none of %q", string(p), purposes)
}

// Uses are the uses that p makes of a page: a statement that refuses one of them
// refuses the purpose. Who trains a model or answers with one mines texts and
// data, too.
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
