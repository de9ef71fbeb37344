// Sessions on a real site: its pages and what they embed are those of a directory of HTML; who comes when, and how much more often
// the most wanted page is wanted than the others, is a log's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/suite/documents.h"
#include "replay/trace/trace.h"

namespace cffs::bench {

// A trace of fetches whose tree is the site's. Each request of the log for a page (a name that ends in .html, .htm or /, or that has
// no ending; any, where it has none of those) is one for the page of its rank: the n-th most wanted of the log is the n-th of a random order of `visits`. What a page
// embeds follows it at once, but for what that client was given in the half hour before, which its browser has. `log`: fetches.
// Ranks beyond the site's pages begin anew with the first. `visits` must not be empty.
replay::Trace site_sessions(const std::vector<SourceFile>& files, std::vector<Visit> visits,
                            const replay::Trace& log, std::uint64_t seed);

}  // namespace cffs::bench
