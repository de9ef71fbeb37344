// A disk that was filled and mostly freed again, before it is measured.
#pragma once

#include "core/object/object_store.h"
#include "replay/play/target.h"

namespace cffs::bench {

// Fills a new file system with so many bytes in files of many sizes and removes three quarters of them at random, so that free space is in
// pieces. What is full before that is full enough.
Status grow_old(replay::Target& files, double bytes);
// The same with objects, of a store on no file system.
Status grow_old(ObjectStore& objects, double bytes);

}  // namespace cffs::bench
