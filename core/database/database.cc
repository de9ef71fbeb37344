#include "core/database/database.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <string_view>
#include <utility>

namespace cffs {

Statement::Statement(sqlite3* db, const char* sql) {
  good_ = sqlite3_prepare_v2(db, sql, -1, &statement_, nullptr) == SQLITE_OK;
}

Statement::Statement(const Database& db, const char* sql) : Statement(db.get(), sql) {
  bounds_ = db.bounds_.get();
}

bool Statement::next() {
  if (!good_) return false;
  const int state = sqlite3_step(statement_);
  good_ = state == SQLITE_ROW || state == SQLITE_DONE;
  if (state == SQLITE_ROW && bounds_ != nullptr) good_ = bounds_->take(bounds_->rows, 1);
  return good_ && state == SQLITE_ROW;
}

std::string Statement::text(int column) {
  const void* bytes = sqlite3_column_blob(statement_, column);
  const auto n = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
  if (bounds_ != nullptr && !bounds_->take(bounds_->bytes, n)) {
    good_ = false;
    return {};
  }
  return bytes == nullptr ? std::string() : std::string(static_cast<const char*>(bytes), n);
}

tl::unexpected<Error> Database::problem() const {
  std::string said = kind_->noun;
  said += ' ';
  said += path_;
  said += ": ";
  said += what_is_wrong();
  return fail(Error::usage(said));
}

std::string Database::what_is_wrong() const {
  if (bounds_ && bounds_->exceeded) {
    return std::string("it says more than a file of its size can: its pages are damaged; ") + kind_->cure;
  }
  return db_ ? sqlite3_errmsg(db_.get()) : "out of memory";
}

Status Database::connect(const std::string& file, int flags) {
  sqlite3* raw = nullptr;
  const int opened = sqlite3_open_v2(file.c_str(), &raw, flags, nullptr);
  db_.reset(raw);
  if (opened != SQLITE_OK) return problem();
  sqlite3_busy_timeout(raw, 10'000);
  return {};
}

// As SQLite's authors advise for files of others (sqlite.org/security.html).
void Database::distrust(std::uint64_t file_bytes) {
  constexpr std::uint64_t kLeastRowBytes = 4;        // in a page, with what points to it
  constexpr std::uint64_t kStepsPerByte = 32;        // a row of n bytes takes a step or two for each column
  constexpr std::uint64_t kStepsAnyway = 2'000'000;  // to read the schema, and about it
  constexpr int kStepsAtOnce = 1000;
  bounds_ = std::make_unique<ReadingBounds>();
  bounds_->steps = kStepsAnyway + kStepsPerByte * file_bytes;
  bounds_->rows = 1000 + file_bytes / kLeastRowBytes;
  bounds_->bytes = file_bytes;
  sqlite3* const db = db_.get();
  sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  constexpr std::pair<int, int> kLimits[] = {
      {SQLITE_LIMIT_LENGTH, 64 << 20},  {SQLITE_LIMIT_SQL_LENGTH, 100'000}, {SQLITE_LIMIT_COLUMN, 100},
      {SQLITE_LIMIT_EXPR_DEPTH, 100},   {SQLITE_LIMIT_VDBE_OP, 25'000},     {SQLITE_LIMIT_FUNCTION_ARG, 8},
      {SQLITE_LIMIT_ATTACHED, 0},       {SQLITE_LIMIT_TRIGGER_DEPTH, 1},    {SQLITE_LIMIT_COMPOUND_SELECT, 5},
      {SQLITE_LIMIT_WORKER_THREADS, 0},
  };
  for (const auto& [limit, value] : kLimits) sqlite3_limit(db, limit, value);
  (void)sqlite3_exec(db, "PRAGMA cell_size_check=ON; PRAGMA mmap_size=0;", nullptr, nullptr, nullptr);
  const auto stop = [](void* bounds) -> int {
    auto* const left = static_cast<ReadingBounds*>(bounds);
    return left->take(left->steps, kStepsAtOnce) ? 0 : 1;
  };
  sqlite3_progress_handler(db, kStepsAtOnce, stop, bounds_.get());
}

// What is read by its name is what the name says: a table with columns.
Status Database::check_tables() const {
  Database own("", *kind_);
  CFFS_TRY_VOID(own.connect(":memory:", SQLITE_OPEN_READWRITE));
  CFFS_TRY_VOID(own.execute(kind_->schema));
  Statement names(own.get(), "SELECT name FROM sqlite_schema WHERE type = 'table'");
  Statement tables(
      db_.get(),
      "SELECT count(*) FROM sqlite_schema WHERE name = ?1 AND type = 'table' AND sql LIKE 'CREATE TABLE %'");
  Statement columns(db_.get(), "SELECT count(*) FROM pragma_table_xinfo(?1) WHERE hidden <> 0");
  while (names.next()) {
    const std::string name = names.text(0);
    tables.ask(name);
    const bool is_table = tables.next() && tables.number(0) == 1;
    columns.ask(name);
    const bool has_columns = is_table && columns.next() && columns.number(0) == 0;
    if (!tables.good() || (is_table && !columns.good())) return problem();
    if (has_columns) continue;
    return fail(Error::usage(std::string(kind_->noun) + " " + path_ + ": '" + name +
                             "' is no table of our making; " + kind_->cure));
  }
  return names.good() ? Status() : Status(own.problem());
}

std::int64_t Database::pragma(const char* sql) const {
  Statement statement(db_.get(), sql);
  return statement.next() ? statement.signed_number(0) : -1;
}

Status Database::check_kind() const {
  const std::string what = std::string(kind_->noun) + " " + path_;
  if (pragma("PRAGMA application_id") != kind_->application_id) {
    return fail(Error::usage(what + " is not a " + kind_->noun + " file; " + kind_->cure));
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

// 0, or an errno.
int sync_named(const std::string& path, int flags) {
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC);
  if (fd < 0) return errno;
  const int problem = ::fsync(fd) == 0 ? 0 : errno;
  ::close(fd);
  return problem;
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

bool Database::is_of_kind(const std::string& path, const DatabaseKind& kind) {
  // https://www.sqlite.org/fileformat2.html: the header, and the application's number in it, big-endian.
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  constexpr std::size_t kNumberAt = 68;
  struct stat st;
  if (::stat(path.c_str(), &st) != 0 || !S_ISREG(st.st_mode)) return false;
  char head[kNumberAt + 4];
  std::ifstream file(path, std::ios::binary);
  if (!file.read(head, sizeof head) || !std::string_view(head, sizeof head).starts_with(kMagic)) return false;
  std::uint32_t number = 0;
  for (std::size_t i = kNumberAt; i < sizeof head; ++i)
    number = number << 8 | static_cast<unsigned char>(head[i]);
  return number == static_cast<std::uint32_t>(kind.application_id);
}

Result<Database> Database::open(const std::string& path, const DatabaseKind& kind) {
  if (::access(path.c_str(), R_OK) != 0) return fail(errno, std::string(kind.noun) + " " + path);
  struct stat st;
  if (::stat(path.c_str(), &st) != 0) return fail(errno, std::string(kind.noun) + " " + path);
  if (S_ISDIR(st.st_mode)) return fail(EISDIR, std::string(kind.noun) + " " + path);
  if (!S_ISREG(st.st_mode)) {  // SQLite would wait for a pipe's writer
    return fail(Error::usage(std::string(kind.noun) + " " + path + " is no regular file"));
  }
  Database db(path, kind);
  CFFS_TRY_VOID(db.connect(path, SQLITE_OPEN_READONLY));
  db.distrust(static_cast<std::uint64_t>(st.st_size));
  CFFS_TRY_VOID(db.check_kind());
  CFFS_TRY_VOID(db.check_tables());
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
  db.distrust(bytes.size());
  CFFS_TRY_VOID(db.check_kind());
  CFFS_TRY_VOID(db.check_tables());
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

// On the medium before it has the name: a power cut must not leave an empty file where a good one was. SQLite itself syncs nothing
// here, so that who fills it does not wait.
Status Database::publish() {
  CFFS_TRY_VOID(execute("COMMIT"));
  db_.reset();
  const auto problem = [this](int number) { return fail(number, std::string(kind_->noun) + " " + path_); };
  if (const int number = sync_named(unfinished_, O_RDONLY); number != 0) return problem(number);
  if (::rename(unfinished_.c_str(), path_.c_str()) != 0) return problem(errno);
  unfinished_.clear();
  const std::size_t slash = path_.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path_.substr(0, slash + 1);
  const int number = sync_named(folder, O_RDONLY | O_DIRECTORY);
  // What may not be listed cannot be synced by whoever may write into it all the same; and some file systems sync no directories.
  if (number != 0 && number != EACCES && number != EINVAL) return problem(number);
  return {};
}

Database::~Database() {
  if (!unfinished_.empty()) (void)::unlink(unfinished_.c_str());
}

}  // namespace cffs
