package store

import (
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/storage/warc"
)

// referred returns the key of the answer to url that has the given date, to which revisit
// records may refer. The key does not reveal the URL, because it is also stored for purged
// answers.
func referred(url string, date time.Time) string {
	sum := sha256.Sum256(strconv.AppendInt(append([]byte(url), ' '), date.UnixMicro(), 10))
	return base64.RawURLEncoding.EncodeToString(sum[:15])
}

// RepeatedAnswer returns the key of the answer to which a revisit record refers, or "" if rec
// is no revisit record or names no answer.
func RepeatedAnswer(rec *warc.Record) string {
	if rec.Type != warc.Revisit {
		return ""
	}
	at, err := time.Parse(time.RFC3339Nano, rec.Header.Get(warc.FieldRefersToDate))
	if err != nil {
		return ""
	}
	return referred(rec.Header.Get(warc.FieldRefersToURI), at)
}

// PurgedAnswer returns the key of the answer that a Purge has replaced by rec (see
// RepeatedAnswer), or "" if rec replaces no answer.
func PurgedAnswer(rec *warc.Record) string {
	answer, ok := strings.CutPrefix(rec.Header.Get(warc.FieldPurged), purgedAnswer)
	if !ok || rec.TargetURI() != "" {
		return ""
	}
	return answer
}
