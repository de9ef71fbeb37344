#include "core/rados/page_cache.h"

#include <new>

#include "core/object/blocking_section.h"

namespace cffs::rados {

// What may throw comes before anything is anywhere.
void PageCache::claim_page(const Key& key, Runs& runs) {
  if (pages_.contains(key)) return;
  const auto page = std::make_shared<Page>();
  std::list<Key> age{key};
  page->age = age.begin();
  // A run lies in one file of a local cache, so that what is short there is short at its end.
  const bool goes_on = !runs.empty() && runs.back().first + runs.back().second == key.page;
  if (!goes_on || key.page % LocalFile::kPages == 0) runs.emplace_back(key.page, 0);
  pages_.emplace(key, page);
  ages_.splice(ages_.end(), age);
  ++runs.back().second;
}

PageCache::Runs PageCache::claim(ObjectNumber object, std::uint64_t first, std::uint64_t last) {
  Runs runs;
  try {
    for (std::uint64_t page = first; page <= last; ++page) claim_page({object, page}, runs);
  } catch (...) {
    for (const auto& [begin, pages] : runs)
      for (std::uint64_t page = begin; page < begin + pages; ++page) erase(pages_.find(Key{object, page}));
    throw;
  }
  fetches_ += runs.size();
  return runs;
}

void PageCache::start(const Source& source, const Runs& runs) {
  for (auto run = runs.begin(); run != runs.end(); ++run) {
    try {
      start(source, run->first, run->second);
    } catch (...) {
      for (; run != runs.end(); ++run) take(source.number(), run->first, run->second, fail(ENOMEM));
      throw;
    }
  }
}

void PageCache::start(const Source& source, std::uint64_t first, std::uint64_t pages) {
  const ObjectNumber object = source.number();
  const auto taken = [self = shared_from_this(), object, first, pages](Result<std::string> bytes) {
    self->take(object, first, pages, std::move(bytes));
  };
  const auto lasting = local_ == nullptr ? std::nullopt : source.lasting();
  if (!lasting) return source.fetch(first * kPageBytes, pages * kPageBytes, taken);
  const auto fetch = [local = local_, kept = *lasting, first, pages, taken] {
    kept.source->fetch(
        first * kPageBytes, pages * kPageBytes,
        [local, number = kept.number, end = kept.end, first, taken](Result<std::string> bytes) {
          try {
            if (bytes) local->keep(number, first, end, *bytes);
          } catch (const std::bad_alloc&) {  // it is not kept
          }
          taken(std::move(bytes));
        });
  };
  local_->read(lasting->number, first, pages, lasting->end, [fetch, taken](std::optional<std::string> bytes) {
    if (bytes) return taken(std::move(*bytes));
    try {
      fetch();
    } catch (const std::bad_alloc&) {  // on a thread of the local cache's
      taken(fail(ENOMEM));
    }
  });
}

void PageCache::take(ObjectNumber object, std::uint64_t first, std::uint64_t pages,
                     Result<std::string> bytes) {
  const MutexLock guard(mutex_);
  for (std::uint64_t i = 0; i < pages; ++i) {
    const auto at = pages_.find(Key{object, first + i});
    if (at == pages_.end() || at->second->state != Page::State::arriving) continue;
    Page& page = *at->second;
    try {
      if (bytes) {
        const std::size_t begin = std::min<std::size_t>(i * kPageBytes, bytes->size());
        page.bytes.reserve(kPageBytes);
        page.bytes.assign(*bytes, begin, kPageBytes);
        page.bytes.resize(kPageBytes);  // what nobody wrote is zeros
      } else {
        page.error = bytes.error();
      }
      page.state = bytes ? Page::State::here : Page::State::failed;
    } catch (const std::bad_alloc&) {  // on a thread of librados's
      page.state = Page::State::failed;
      page.error = Error::os(ENOMEM);
    }
    // An error is for those who wait, and nobody after them.
    if (page.state == Page::State::failed || page.is_void) erase(at);
  }
  --fetches_;
  make_room();
  arrived_.notify_all();
}

void PageCache::erase(Pages::iterator page) {
  ages_.erase(page->second->age);
  pages_.erase(page);
}

void PageCache::make_room() {
  for (auto oldest = ages_.begin(); pages_.size() > capacity_pages_ && oldest != ages_.end();) {
    const auto page = pages_.find(*oldest);
    ++oldest;
    if (page->second->state != Page::State::arriving) erase(page);
  }
}

void PageCache::copy(const Page& page, std::uint64_t number, std::uint64_t offset, Bytes out) {
  const std::uint64_t page_begin = number * kPageBytes;
  const std::uint64_t begin = std::max(offset, page_begin);
  const std::uint64_t end = std::min(offset + out.size(), page_begin + kPageBytes);
  const ConstBytes bytes = as_bytes(page.bytes).subspan(begin - page_begin, end - begin);
  std::copy(bytes.begin(), bytes.end(), out.begin() + static_cast<std::ptrdiff_t>(begin - offset));
}

Status PageCache::read(const Source& source, std::uint64_t offset, Bytes out) {
  if (out.empty()) return {};
  const ObjectNumber object = source.number();
  const std::uint64_t last = (offset + out.size() - 1) / kPageBytes;
  bool announced = false;
  MutexLock guard(mutex_);
  for (std::uint64_t number = offset / kPageBytes; number <= last;) {
    const auto at = pages_.find(Key{object, number});
    if (at == pages_.end()) {
      // No more at once than stays here until it was copied.
      const auto runs = claim(object, number, std::min(last, number + capacity_pages_ / 4));
      const std::shared_ptr<Page> claimed = pages_.find(Key{object, number})->second;
      guard.unlock();
      start(source, runs);
      guard.lock();
      // It may have failed, and gone, before anybody could wait for it: to ask again would be for ever.
      if (claimed->state == Page::State::failed) return fail(claimed->error);
      continue;
    }
    const std::shared_ptr<Page> page = at->second;
    if (page->state == Page::State::arriving && !announced) {
      announced = true;
      guard.unlock();
      announce_blocking();
      guard.lock();
    }
    while (page->state == Page::State::arriving) arrived_.wait(mutex_);
    if (page->state == Page::State::failed) return fail(page->error);
    if (page->is_void) continue;
    copy(*page, number, offset, out);
    if (const auto now = pages_.find(Key{object, number}); now != pages_.end() && now->second == page)
      ages_.splice(ages_.end(), ages_, page->age);
    ++number;
  }
  return {};
}

bool PageCache::read_if_here(ObjectNumber object, std::uint64_t offset, Bytes out) {
  if (out.empty()) return true;
  const MutexLock guard(mutex_);
  const std::uint64_t first = offset / kPageBytes, last = (offset + out.size() - 1) / kPageBytes;
  for (std::uint64_t number = first; number <= last; ++number) {
    const auto at = pages_.find(Key{object, number});
    if (at == pages_.end() || at->second->state != Page::State::here) return false;
  }
  for (std::uint64_t number = first; number <= last; ++number) {
    const Page& page = *pages_.find(Key{object, number})->second;
    copy(page, number, offset, out);
    ages_.splice(ages_.end(), ages_, page.age);
  }
  return true;
}

double PageCache::share(ObjectNumber object, std::uint64_t offset, std::uint64_t length) const {
  if (length == 0) return 1;
  const MutexLock guard(mutex_);
  const std::uint64_t first = offset / kPageBytes, last = (offset + length - 1) / kPageBytes;
  std::uint64_t there = 0;
  for (std::uint64_t number = first; number <= last; ++number) there += pages_.count(Key{object, number});
  return static_cast<double>(there) / static_cast<double>(last - first + 1);
}

void PageCache::prefetch(const Source& source, std::uint64_t offset, std::uint64_t length) {
  if (length == 0) return;
  Runs runs;
  {
    const MutexLock guard(mutex_);
    runs = claim(source.number(), offset / kPageBytes, (offset + length - 1) / kPageBytes);
  }
  start(source, runs);
}

void PageCache::drop_page(Pages::iterator page) {
  page->second->is_void = true;
  if (page->second->state != Page::State::arriving) erase(page);
}

void PageCache::drop(ObjectNumber object, std::uint64_t offset, std::uint64_t length) {
  const MutexLock guard(mutex_);
  const std::uint64_t first = offset / kPageBytes,
                      last = length == 0 ? ~std::uint64_t{0} : (offset + length - 1) / kPageBytes;
  if (last - first >= pages_.size()) {  // rare: a walk over all there is
    for (auto at = pages_.begin(); at != pages_.end();) {
      const auto here = at++;
      if (here->first.object == object && here->first.page >= first && here->first.page <= last)
        drop_page(here);
    }
    return;
  }
  for (std::uint64_t number = first; number <= last; ++number) {
    if (const auto at = pages_.find(Key{object, number}); at != pages_.end()) drop_page(at);
  }
}

void PageCache::forget(const Source& source) {
  drop(source.number(), 0);
  if (local_ == nullptr) return;
  if (const auto lasting = source.lasting()) local_->forget(lasting->number);
}

void PageCache::drop(const std::unordered_set<ObjectNumber>& objects) {
  if (objects.empty()) return;
  const MutexLock guard(mutex_);
  for (auto at = pages_.begin(); at != pages_.end();) {
    const auto here = at++;
    if (objects.contains(here->first.object)) drop_page(here);
  }
}

void PageCache::drain() {
  const MutexLock guard(mutex_);
  while (fetches_ > 0) arrived_.wait(mutex_);
}

void PageCache::clear() {
  const MutexLock guard(mutex_);
  while (fetches_ > 0) arrived_.wait(mutex_);
  pages_.clear();
  ages_.clear();
}

}  // namespace cffs::rados
