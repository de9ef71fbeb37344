// SQLite, as plans, traces and results use it: a connection, prepared statements, files that appear whole or not at all.
//
// A file that is opened to be read may be anybody's. SQLite is told not to trust its schema, our tables must be tables and their
// columns columns (no views, no virtual tables, no generated columns, which could compute for ever), and reading it is bounded
// by the file's size: pages that are used twice, or in a circle, make a small file say endlessly much.
//
// Errors are sentences that name the file. Not thread-safe: a connection and its statements belong to one thread.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/base/error.h"

namespace cffs {

// What reading a file may still take.
struct ReadingBounds {
  std::uint64_t steps = 0;  // of SQLite's machine
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;  // of texts
  bool exceeded = false;

  bool take(std::uint64_t& of, std::uint64_t n) {
    exceeded = exceeded || n > of;
    of -= n > of ? of : n;
    return !exceeded;
  }
};

class Database;

class Statement {
 public:
  Statement(sqlite3* db, const char* sql);
  // Bounded as the file is.
  Statement(const Database& db, const char* sql);
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // Runs it with these values; false on an error.
  template <typename... Values>
  bool insert(const Values&... values) {
    bind_all(values...);
    good_ = good_ && sqlite3_step(statement_) == SQLITE_DONE;
    sqlite3_reset(statement_);
    return good_;
  }
  // Starts a query over with these values; next() then walks its rows.
  template <typename... Values>
  void ask(const Values&... values) {
    sqlite3_reset(statement_);
    bind_all(values...);
  }
  bool next();
  bool good() const { return good_; }
  bool is_null(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
  std::uint64_t number(int column) const { return static_cast<std::uint64_t>(signed_number(column)); }
  std::int64_t signed_number(int column) const { return sqlite3_column_int64(statement_, column); }
  double real(int column) const { return sqlite3_column_double(statement_, column); }
  // Empty beyond the bounds; then good() says so.
  std::string text(int column);

 private:
  template <typename... Values>
  void bind_all(const Values&... values) {
    int column = 0;
    (bind(++column, values), ...);
  }
  void bind(int column, std::string_view v) {
    sqlite3_bind_text64(statement_, column, v.data(), v.size(), SQLITE_STATIC, SQLITE_UTF8);
  }
  void bind(int column, double v) { sqlite3_bind_double(statement_, column, v); }
  void bind(int column, std::nullptr_t) { sqlite3_bind_null(statement_, column); }
  template <typename T>
  requires std::is_integral_v<T>
  void bind(int column, T v) { sqlite3_bind_int64(statement_, column, static_cast<sqlite3_int64>(v)); }

  sqlite3_stmt* statement_ = nullptr;
  bool good_ = false;
  ReadingBounds* bounds_ = nullptr;
};

// What a kind of file is: its name in messages, its application_id, its version, how to get another.
struct DatabaseKind {
  const char* noun;  // "plan"
  int application_id;
  int version;
  const char* schema;
  const char* cure;  // "make one with cffs analyze -o"
};

class Database {
 public:
  // A new file, in one transaction, without a journal: it takes its name in publish(), and is gone if that is never
  // called. A device or a directory of that name is refused.
  static Result<Database> create(const std::string& path, const DatabaseKind& kind);
  // Opens a file to be read. Another kind of file, or another version, is refused in one sentence.
  static Result<Database> open(const std::string& path, const DatabaseKind& kind);
  // Whether the first bytes of a regular file say that it is of this kind, whatever its name is.
  static bool is_of_kind(const std::string& path, const DatabaseKind& kind);
  // The same for a file whose bytes are in memory; they must outlive the connection. `path` is for messages.
  static Result<Database> open_bytes(const std::string& path, const DatabaseKind& kind,
                                     std::string_view bytes);
  // Opens a file to be added to, making it where it is not there yet.
  static Result<Database> open_or_create(const std::string& path, const DatabaseKind& kind);
  ~Database();
  Database(Database&&) = default;
  Database& operator=(Database&&) = default;

  sqlite3* get() const { return db_.get(); }
  Status execute(const std::string& sql);
  Status publish();
  // What went wrong last, as an error that names the file.
  tl::unexpected<Error> problem() const;
  // The same without the file's name.
  std::string what_is_wrong() const;

 private:
  friend class Statement;
  struct Close {
    void operator()(sqlite3* db) const { sqlite3_close(db); }
  };
  Database(std::string path, const DatabaseKind& kind) : path_(std::move(path)), kind_(&kind) {}
  Status connect(const std::string& file, int flags);
  void distrust(std::uint64_t file_bytes);
  std::int64_t pragma(const char* sql) const;
  Status check_kind() const;
  Status check_tables() const;

  std::string path_, unfinished_;
  const DatabaseKind* kind_;
  std::unique_ptr<ReadingBounds> bounds_;  // null: our own file; outlives the connection
  std::unique_ptr<sqlite3, Close> db_;
};

}  // namespace cffs
