#include "core/database/database.h"

#include <sys/stat.h>
#include <unistd.h>

namespace cffs {

Statement::Statement(sqlite3* db, const char* sql) {
  good_ = sqlite3_prepare_v2(db, sql, -1, &statement_, nullptr) == SQLITE_OK;
}

bool Statement::next() {
  if (!good_) return false;
  const int state = sqlite3_step(statement_);
  good_ = state == SQLITE_ROW || state == SQLITE_DONE;
  return state == SQLITE_ROW;
}

std::string Statement::text(int column) const {
  const void* bytes = sqlite3_column_blob(statement_, column);
  const auto n = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
  return bytes == nullptr ? std::string() : std::string(static_cast<const char*>(bytes), n);
}

tl::unexpected<Error> Database::problem() const {
  return fail(Error::usage(std::string(kind_->noun) + " " + path_ + ": " +
                           (db_ ? sqlite3_errmsg(db_.get()) : "out of memory")));
}

Status Database::connect(const std::string& file, int flags) {
  sqlite3* raw = nullptr;
  const int opened = sqlite3_open_v2(file.c_str(), &raw, flags, nullptr);
  db_.reset(raw);
  if (opened != SQLITE_OK) return problem();
  sqlite3_busy_timeout(raw, 10'000);
  return {};
}

std::int64_t Database::pragma(const char* sql) const {
  Statement statement(db_.get(), sql);
  return statement.next() ? statement.signed_number(0) : -1;
}

Status Database::check_kind() const {
  const std::string what = std::string(kind_->noun) + " " + path_;
  if (pragma("PRAGMA application_id") != kind_->application_id) {
    return fail(Error::usage(what + " is not a " + kind_->noun + "; " + kind_->cure));
  }
  if (const std::int64_t version = pragma("PRAGMA user_version"); version != kind_->version) {
    return fail(Error::usage(what + " has version " + std::to_string(version) + ", this program reads " +
                             std::to_string(kind_->version) + "; " + kind_->cure));
  }
  return {};
}

Status Database::execute(const std::string& sql) {
  if (sqlite3_exec(db_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) return problem();
  return {};
}

namespace {

std::string marks_of(const DatabaseKind& kind) {
  return "PRAGMA application_id=" + std::to_string(kind.application_id) +
         "; PRAGMA user_version=" + std::to_string(kind.version) + ";";
}

}  // namespace

Result<Database> Database::create(const std::string& path, const DatabaseKind& kind) {
  // A new file takes the name; a device or a directory must keep its own.
  struct stat st;
  if (::stat(path.c_str(), &st) == 0 && !S_ISREG(st.st_mode)) {
    return fail(Error::usage(std::string(kind.noun) + " " + path +
                             ": there is something that is no regular file; choose another name"));
  }
  Database db(path, kind);
  const std::string unfinished = path + ".unfinished";
  (void)::unlink(unfinished.c_str());
  CFFS_TRY_VOID(db.connect(unfinished, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE));
  db.unfinished_ = unfinished;
  CFFS_TRY_VOID(db.execute("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;" + marks_of(kind) + "BEGIN;"));
  CFFS_TRY_VOID(db.execute(kind.schema));
  return db;
}

Result<Database> Database::open(const std::string& path, const DatabaseKind& kind) {
  if (::access(path.c_str(), R_OK) != 0) return fail(errno, std::string(kind.noun) + " " + path);
  struct stat st;
  if (::stat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode)) {
    return fail(EISDIR, std::string(kind.noun) + " " + path);
  }
  Database db(path, kind);
  CFFS_TRY_VOID(db.connect(path, SQLITE_OPEN_READONLY));
  CFFS_TRY_VOID(db.check_kind());
  return db;
}

Result<Database> Database::open_bytes(const std::string& path, const DatabaseKind& kind,
                                      std::string_view bytes) {
  Database db(path, kind);
  CFFS_TRY_VOID(db.connect(":memory:", SQLITE_OPEN_READWRITE));
  auto* data = reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data()));  // read only, says the flag
  const auto size = static_cast<sqlite3_int64>(bytes.size());
  if (sqlite3_deserialize(db.get(), "main", data, size, size, SQLITE_DESERIALIZE_READONLY) != SQLITE_OK) {
    return db.problem();
  }
  CFFS_TRY_VOID(db.check_kind());
  return db;
}

Result<Database> Database::open_or_create(const std::string& path, const DatabaseKind& kind) {
  struct stat st;
  const bool there = ::stat(path.c_str(), &st) == 0;
  if (there && !S_ISREG(st.st_mode)) {
    return fail(Error::usage(std::string(kind.noun) + " " + path +
                             ": there is something that is no regular file; choose another name"));
  }
  Database db(path, kind);
  CFFS_TRY_VOID(db.connect(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE));
  if (there && st.st_size > 0) {
    CFFS_TRY_VOID(db.check_kind());
    return db;
  }
  CFFS_TRY_VOID(db.execute(marks_of(kind) + "BEGIN;" + kind.schema + "COMMIT;"));
  return db;
}

Status Database::publish() {
  CFFS_TRY_VOID(execute("COMMIT"));
  db_.reset();
  const std::string file = std::exchange(unfinished_, {});
  if (::rename(file.c_str(), path_.c_str()) != 0) {
    const int problem = errno;
    (void)::unlink(file.c_str());
    return fail(problem, std::string(kind_->noun) + " " + path_);
  }
  return {};
}

Database::~Database() {
  if (!unfinished_.empty()) (void)::unlink(unfinished_.c_str());
}

}  // namespace cffs
