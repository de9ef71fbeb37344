// Web-server logs as traces: each successful GET is a fetch of its file, the initial tree is what the log implies.
#pragma once

#include "replay/logs/document_tree.h"
#include "replay/trace/trace.h"

namespace cffs::replay {

// After the tree was settled (and repeated). Times need logs with readable ones; else a request a millisecond is assumed.
Trace trace_of(const DocumentTree& tree);

}  // namespace cffs::replay
