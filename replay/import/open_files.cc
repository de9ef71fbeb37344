#include "replay/import/open_files.h"

#include <utility>

namespace cffs::replay {

OpenFiles::Table& OpenFiles::table(std::uint64_t process) {
  auto& table = tables_[process];
  if (!table) table = std::make_shared<Table>();
  return *table;
}

void OpenFiles::drop(std::shared_ptr<OpenFile> file) {
  if (file && file.use_count() == 1) closed_(*file);
}

std::shared_ptr<OpenFile> OpenFiles::find(std::uint64_t process, std::int64_t number) {
  Table& files = table(process);
  const auto it = files.find(number);
  return it == files.end() ? nullptr : it->second.file;
}

void OpenFiles::put(std::uint64_t process, std::int64_t number, std::shared_ptr<OpenFile> file,
                    bool close_on_exec) {
  Slot& slot = table(process)[number];
  std::shared_ptr<OpenFile> old = std::exchange(slot.file, std::move(file));
  slot.close_on_exec = close_on_exec;
  drop(std::move(old));
}

void OpenFiles::set_close_on_exec(std::uint64_t process, std::int64_t number, bool on) {
  Table& files = table(process);
  if (const auto it = files.find(number); it != files.end()) it->second.close_on_exec = on;
}

void OpenFiles::close(std::uint64_t process, std::int64_t first, std::int64_t last) {
  Table& files = table(process);
  for (auto it = files.lower_bound(first); it != files.end() && it->first <= last;) {
    std::shared_ptr<OpenFile> file = std::move(it->second.file);
    it = files.erase(it);
    drop(std::move(file));
  }
}

OpenFiles::Elsewhere OpenFiles::elsewhere(std::uint64_t process, std::int64_t number,
                                          std::string_view path) const {
  const auto own = tables_.find(process);
  Elsewhere last;
  for (const auto& [other, table] : tables_) {
    if (!table || other == process || (own != tables_.end() && table == own->second)) continue;
    const auto it = table->find(number);
    if (it == table->end() || !it->second.file || it->second.file->path != path) continue;
    if (!last.file || it->second.file->line > last.file->line) last = {other, it->second.file};
  }
  return last;
}

void OpenFiles::join(std::uint64_t process, std::uint64_t other) {
  (void)table(process);
  (void)table(other);
  const std::shared_ptr<Table> gone = tables_[process], kept = tables_[other];
  if (gone == kept) return;
  for (auto& [number, slot] : *gone) {
    Slot& there = (*kept)[number];
    if (!there.file || (slot.file && slot.file->line > there.file->line)) std::swap(there, slot);
  }
  for (auto& [member, table] : tables_) {
    if (table == gone) table = kept;
  }
  for (auto& [number, slot] : *gone) drop(std::move(slot.file));
}

void OpenFiles::fork(std::uint64_t parent, std::uint64_t child, bool shares) {
  exit(child);  // a number that is used again
  (void)table(parent);
  const auto& of_parent = tables_[parent];
  tables_[child] = shares ? of_parent : std::make_shared<Table>(*of_parent);
}

void OpenFiles::exec(std::uint64_t process) {
  auto& shared = tables_[process];
  if (!shared) return;
  if (shared.use_count() > 1) shared = std::make_shared<Table>(*shared);  // vfork's child leaves
  for (auto it = shared->begin(); it != shared->end();) {
    if (!it->second.close_on_exec) {
      ++it;
      continue;
    }
    std::shared_ptr<OpenFile> file = std::move(it->second.file);
    it = shared->erase(it);
    drop(std::move(file));
  }
}

void OpenFiles::exit(std::uint64_t process) {
  const auto it = tables_.find(process);
  if (it == tables_.end()) return;
  std::shared_ptr<Table> files = std::move(it->second);
  tables_.erase(it);
  if (!files || files.use_count() > 1) return;  // threads of it live on
  for (auto& [number, slot] : *files) drop(std::move(slot.file));
}

void OpenFiles::exit_all() {
  while (!tables_.empty()) exit(tables_.begin()->first);
}

}  // namespace cffs::replay
