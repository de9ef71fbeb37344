// What the daemon's heap does with memory that is free again.
#pragma once

namespace cffs {

// For a process that lives long and reorganises beside its requests. Large memory (128 KiB and more) always comes from the system and goes
// back to it: by itself the GNU C library takes the first large piece that is freed for a sign that such pieces belong into the heaps of
// its threads, where what is in use between them keeps the holes that they leave. Called before there are threads. No effect with other C
// libraries.
void keep_large_memory_apart();

}  // namespace cffs
