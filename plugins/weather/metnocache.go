package main

import (
	"net/http"
	"sync"
	"time"
)

// maxCached is how many points are kept in memory; an answer takes some 20 KiB.
const maxCached = 64

// metNoCache keeps met.no's answers by URL. It may be used concurrently; the
// answers in it are never changed.
type metNoCache struct {
	now func() time.Time

	mu      sync.Mutex
	entries map[string]metNoEntry
}

// metNoEntry is one answer with what its headers said.
type metNoEntry struct {
	answer   *metNoAnswer
	modified string // Last-Modified, as it came
	expires  time.Time
}

func newMetNoCache(now func() time.Time) *metNoCache {
	return &metNoCache{now: now, entries: map[string]metNoEntry{}}
}

// get returns the entry of a URL, zero if there is none, and whether the
// server has to be asked again.
func (c *metNoCache) get(url string) (e metNoEntry, expired bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e = c.entries[url]
	return e, !c.now().Before(e.expires)
}

// put keeps an entry until the Expires header says; if that cannot be read,
// the server is asked again next time. If the cache is full, the entry that
// expires first goes.
func (c *metNoCache) put(url string, e metNoEntry, expires string) {
	e.expires = time.Time{}
	if t, err := http.ParseTime(expires); err == nil {
		e.expires = t
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.entries[url]; !known && len(c.entries) >= maxCached {
		c.dropFirst()
	}
	c.entries[url] = e
}

// dropFirst drops the entry that expires first.
func (c *metNoCache) dropFirst() {
	first := ""
	for url, e := range c.entries {
		if first == "" || e.expires.Before(c.entries[first].expires) {
			first = url
		}
	}
	delete(c.entries, first)
}
