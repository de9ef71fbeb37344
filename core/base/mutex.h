// Mutexes that the compiler checks: what a mutex guards and which function needs it held is part of the declaration, and
// clang's -Wthread-safety (the clang preset) refuses a build in which somebody forgot. For other compilers the annotations
// are nothing, and the classes are the standard library's.
//
//   Mutex, MutexLock          exclusive; CondVar waits with it
//   SharedMutex               many readers or one writer: ReadLock, WriteLock
//
// The words are clang's (https://clang.llvm.org/docs/ThreadSafetyAnalysis.html): GUARDED_BY on a member, REQUIRES on a
// function. Where locks are taken in loops (several nodes, row stripes) the analysis cannot follow; the guard there says
// what it holds with assert_held().
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <shared_mutex>

#if defined(__clang__)
#define CFFS_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define CFFS_THREAD_ANNOTATION(x)
#endif

#define CFFS_CAPABILITY(name) CFFS_THREAD_ANNOTATION(capability(name))
#define CFFS_SCOPED_CAPABILITY CFFS_THREAD_ANNOTATION(scoped_lockable)
#define CFFS_GUARDED_BY(x) CFFS_THREAD_ANNOTATION(guarded_by(x))
#define CFFS_PT_GUARDED_BY(x) CFFS_THREAD_ANNOTATION(pt_guarded_by(x))
#define CFFS_REQUIRES(...) CFFS_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define CFFS_REQUIRES_SHARED(...) CFFS_THREAD_ANNOTATION(requires_shared_capability(__VA_ARGS__))
#define CFFS_EXCLUDES(...) CFFS_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))
#define CFFS_ACQUIRE(...) CFFS_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define CFFS_ACQUIRE_SHARED(...) CFFS_THREAD_ANNOTATION(acquire_shared_capability(__VA_ARGS__))
#define CFFS_RELEASE(...) CFFS_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define CFFS_RELEASE_SHARED(...) CFFS_THREAD_ANNOTATION(release_shared_capability(__VA_ARGS__))
#define CFFS_RELEASE_GENERIC(...) CFFS_THREAD_ANNOTATION(release_generic_capability(__VA_ARGS__))
#define CFFS_TRY_ACQUIRE(...) CFFS_THREAD_ANNOTATION(try_acquire_capability(__VA_ARGS__))
#define CFFS_TRY_ACQUIRE_SHARED(...) CFFS_THREAD_ANNOTATION(try_acquire_shared_capability(__VA_ARGS__))
#define CFFS_ASSERT_CAPABILITY(x) CFFS_THREAD_ANNOTATION(assert_capability(x))
#define CFFS_ASSERT_SHARED_CAPABILITY(x) CFFS_THREAD_ANNOTATION(assert_shared_capability(x))
#define CFFS_RETURN_CAPABILITY(x) CFFS_THREAD_ANNOTATION(lock_returned(x))
// Only with a comment that says why the analysis cannot follow.
#define CFFS_NO_THREAD_SAFETY_ANALYSIS CFFS_THREAD_ANNOTATION(no_thread_safety_analysis)

namespace cffs {

class CFFS_CAPABILITY("mutex") Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock() CFFS_ACQUIRE() { mutex_.lock(); }
  void unlock() CFFS_RELEASE() { mutex_.unlock(); }
  // False: somebody has it. The only way to take a lock out of rank.
  bool try_lock() CFFS_TRY_ACQUIRE(true) { return mutex_.try_lock(); }
  // Tells the analysis what it cannot see: whoever calls holds it.
  void assert_held() const CFFS_ASSERT_CAPABILITY(this) {}

 private:
  friend class CondVar;
  std::mutex mutex_;
};

// Holds a Mutex for a scope; may be let go and taken again within it.
class CFFS_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) CFFS_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~MutexLock() CFFS_RELEASE() {
    if (held_) mutex_.unlock();
  }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void lock() CFFS_ACQUIRE() {
    mutex_.lock();
    held_ = true;
  }
  void unlock() CFFS_RELEASE() {
    held_ = false;
    mutex_.unlock();
  }

 private:
  Mutex& mutex_;
  bool held_ = true;
};

// Waits with a Mutex that the caller holds. Wake-ups may come without cause: callers look again, in a loop.
class CondVar {
 public:
  void wait(Mutex& mutex) CFFS_REQUIRES(mutex) {
    std::unique_lock<std::mutex> held(mutex.mutex_, std::adopt_lock);
    condition_.wait(held);
    (void)held.release();  // the caller holds it as before
  }
  // False: the time came without a wake-up.
  template <typename Clock, typename Duration>
  bool wait_until(Mutex& mutex, const std::chrono::time_point<Clock, Duration>& time) CFFS_REQUIRES(mutex) {
    std::unique_lock<std::mutex> held(mutex.mutex_, std::adopt_lock);
    const bool woken = condition_.wait_until(held, time) == std::cv_status::no_timeout;
    (void)held.release();
    return woken;
  }
  void notify_one() { condition_.notify_one(); }
  void notify_all() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

// Readers and writers take turns: readers that overlap without a pause would keep a writer out for good, as the C library's rwlock lets them by
// default. While a writer waits whoever comes to read waits, too, behind that one writer, and not behind the next: from then on he is one of
// those whom the C library lets in first. So no thread may hold one shared and take it shared again.
class CFFS_CAPABILITY("shared mutex") SharedMutex {
 public:
  SharedMutex() = default;
  SharedMutex(const SharedMutex&) = delete;
  SharedMutex& operator=(const SharedMutex&) = delete;

  void lock() CFFS_ACQUIRE() {
    if (try_lock()) return;
    std::uint64_t turn = turn_.load();
    while (is_awaited(turn) || !turn_.compare_exchange_weak(turn, turn + 1)) {
      if (is_awaited(turn)) turn_.wait(turn);
      turn = turn_.load();
    }
    mutex_.lock();
    turn_.fetch_add(1);
    turn_.notify_all();
  }
  void unlock() CFFS_RELEASE() { mutex_.unlock(); }
  // False: somebody has it, or a writer waits for it.
  bool try_lock() CFFS_TRY_ACQUIRE(true) { return !is_awaited(turn_.load()) && mutex_.try_lock(); }
  void lock_shared() CFFS_ACQUIRE_SHARED() {
    const std::uint64_t turn = turn_.load();
    if (is_awaited(turn)) turn_.wait(turn);
    mutex_.lock_shared();
  }
  void unlock_shared() CFFS_RELEASE_SHARED() { mutex_.unlock_shared(); }
  // False: somebody has it for himself alone.
  bool try_lock_shared() CFFS_TRY_ACQUIRE_SHARED(true) { return mutex_.try_lock_shared(); }
  void assert_held() const CFFS_ASSERT_CAPABILITY(this) {}
  void assert_held_shared() const CFFS_ASSERT_SHARED_CAPABILITY(this) {}

 private:
  static bool is_awaited(std::uint64_t turn) { return turn % 2 != 0; }

  std::shared_mutex mutex_;
  std::atomic<std::uint64_t> turn_{0};  // odd: a writer waits
};

class CFFS_SCOPED_CAPABILITY ReadLock {
 public:
  explicit ReadLock(SharedMutex& mutex) CFFS_ACQUIRE_SHARED(mutex) : mutex_(mutex) { mutex_.lock_shared(); }
  ~ReadLock() CFFS_RELEASE() { mutex_.unlock_shared(); }
  ReadLock(const ReadLock&) = delete;
  ReadLock& operator=(const ReadLock&) = delete;

 private:
  SharedMutex& mutex_;
};

class CFFS_SCOPED_CAPABILITY WriteLock {
 public:
  explicit WriteLock(SharedMutex& mutex) CFFS_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~WriteLock() CFFS_RELEASE() { mutex_.unlock(); }
  WriteLock(const WriteLock&) = delete;
  WriteLock& operator=(const WriteLock&) = delete;

 private:
  SharedMutex& mutex_;
};

}  // namespace cffs
