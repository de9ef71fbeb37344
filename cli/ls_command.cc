// ls: lists files of a store, mounted or not. Nothing on its medium changes.
#include <fmt/format.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "cli/browsed_stores.h"
#include "cli/browsing_commands.h"
#include "core/base/printable.h"
#include "core/browse/listing.h"
#include "core/browse/tree_path.h"
#include "core/browse/tree_walk.h"

namespace cffs::cli {
namespace {

struct ListFlags {
  std::vector<std::string> places;
  bool foreign_owner = false, long_lines = false, all = false, almost_all = false, recursive = false,
       one = false, directory = false, human = false, numeric = false, by_time = false, by_size = false,
       reverse = false, inodes = false, json = false;
};

class Lister {
 public:
  explicit Lister(const ListFlags& flags) : flags_(flags), now_ns_(SystemClock().now_ns()) {}

  // As ls: files that were named first, then each directory below its name.
  int run() {
    BrowsedStores stores(flags_.foreign_owner);
    struct Directory {
      BrowsedStores::Place place;
      std::string text;
    };
    std::vector<ShownFile> files;
    std::vector<nlohmann::ordered_json> file_objects;
    std::vector<Directory> directories;
    for (const std::string& text : flags_.places) {
      const auto place = stores.at(text, "ls");
      if (!place) {
        failed(place.error());
        continue;
      }
      // A link to a directory is that directory, but where its own line is asked for.
      const bool keep = flags_.long_lines || flags_.directory;
      const auto found =
          find_path(*place->fs, place->place.path, keep ? LastLink::keep : LastLink::follow, text);
      if (!found) {
        failed(found.error());
        continue;
      }
      const Referred start(*place->fs, *found);
      if (S_ISDIR(found->mode) && !flags_.directory) {
        directories.push_back({*place, text});
        continue;
      }
      if (flags_.json) {
        file_objects.push_back(object(*place->fs, {text, *found}, text));
      } else {
        files.push_back(shown(*place->fs, {text, *found}, text, found->ino));
      }
    }
    if (flags_.json) {
      put("[");
      for (const auto& one : file_objects) put_object(one);
    } else if (!files.empty()) {
      sort(files);
      print(files);
    }
    headings_ = flags_.recursive || flags_.places.size() > 1;
    blank_ = !files.empty();
    for (const Directory& directory : directories) list(directory.place, directory.text);
    if (flags_.json) put(first_object_ ? "]\n" : "\n]\n");
    return code_;
  }

 private:
  void failed(const Error& error) { code_ = complain(error); }
  // What could not be read is not taken for nothing.
  template <typename T>
  Result<T> told(const std::string& path, Result<T> read) {
    if (!read) {
      code_ = 1;
      complain_of(path, read.error());
    }
    return read;
  }

  void list(const BrowsedStores::Place& place, const std::string& text) {
    const auto start = find_path(*place.fs, place.place.path, LastLink::follow, text);
    if (!start) return failed(start.error());
    const Referred held(*place.fs, *start);
    TreeWalker walker;
    walker.enter = [&](const WalkedFile& file) -> Result<Onward> {
      if (output_failed()) return Onward::end;
      if (!S_ISDIR(file.attributes.mode)) return Onward::pass_by;
      if (file.depth > 0 &&
          (!flags_.recursive || (hidden(std::string(file.name())) && !flags_.all && !flags_.almost_all)))
        return Onward::pass_by;
      if (file.depth == 0) {
        one_directory(place, text, file);
        return flags_.recursive ? Onward::descend : Onward::pass_by;
      }
      CFFS_TRY(const Attributes referred, place.fs->lookup(file.parent, file.name()));
      const Referred below(*place.fs, referred);
      one_directory(place, place.place.name_of(file.path), file);
      return Onward::descend;
    };
    if (const Status done = walk_tree(*place.fs, *start, walker); !done) failed(done.error());
  }

  static bool hidden(const std::string& name) { return name.starts_with('.'); }

  void one_directory(const BrowsedStores::Place& place, const std::string& text,
                     const WalkedFile& directory) {
    Status problem;
    const InodeId ino = directory.attributes.ino;
    std::vector<ListedEntry> entries = list_by_name(*place.fs, ino, problem);
    const auto name_of = [&](const ListedEntry& entry) {
      return place.place.name_of(directory.path.empty() ? entry.name : directory.path + "/" + entry.name);
    };
    if (!problem) {
      code_ = 1;
      complain_of(text, problem.error());
    }
    if (flags_.json) {
      for (const ListedEntry& entry : entries) {
        if (flags_.all || flags_.almost_all || !hidden(entry.name))
          put_object(object(*place.fs, entry, name_of(entry), ino));
      }
      return;
    }
    std::vector<ShownFile> files;
    if (flags_.all) {
      for (const char* dot : {".", ".."}) {
        const auto found = place.fs->lookup(ino, dot);  // above the root is the root, here
        if (!found) continue;
        place.fs->forget(found->ino, 1);
        entries.push_back({dot, *found});
      }
      std::sort(entries.begin(), entries.end(),
                [](const ListedEntry& a, const ListedEntry& b) { return a.name < b.name; });
    }
    for (const ListedEntry& entry : entries) {
      if (flags_.all || flags_.almost_all || !hidden(entry.name))
        files.push_back(shown(*place.fs, entry, name_of(entry), ino));
    }
    sort(files);
    if (blank_) put_line("");
    blank_ = true;
    if (headings_) put_line(names_(text) + ":");
    if (flags_.long_lines) {
      put_line("total " +
               (flags_.human ? short_size(total_kib(files) * 1024) : std::to_string(total_kib(files))));
    }
    print(files);
  }

  // `in`: the directory, or the file itself where it was named.
  ShownFile shown(FileSystem& fs, const ListedEntry& entry, const std::string& path, InodeId in) {
    ShownFile file{names_(entry.name), entry.attributes, "", false};
    if (!flags_.long_lines) return file;
    with_file(fs, entry, in, [&](InodeId ino) {
      if (S_ISLNK(entry.attributes.mode)) {
        if (const auto target = told(path, fs.readlink(ino))) file.target = names_(*target);
      } else if (const auto attributes = told(path, fs.listxattr(ino))) {
        file.has_acl = std::any_of(attributes->begin(), attributes->end(), [](const std::string& name) {
          return name.starts_with("system.posix_acl_");
        });
      }
    });
    return file;
  }

  template <typename Use>
  void with_file(FileSystem& fs, const ListedEntry& entry, InodeId in, const Use& use) {
    if (in == entry.attributes.ino) return use(in);
    const auto found = fs.lookup(in, entry.name);
    if (!found) return failed(found.error());
    const Referred held(fs, *found);
    use(found->ino);
  }

  void sort(std::vector<ShownFile>& files) const {
    if (flags_.by_time || flags_.by_size) {
      std::stable_sort(files.begin(), files.end(), [&](const ShownFile& a, const ShownFile& b) {
        return flags_.by_time ? a.attributes.mtime_ns > b.attributes.mtime_ns
                              : a.attributes.size > b.attributes.size;
      });
    }
    if (flags_.reverse) std::reverse(files.begin(), files.end());
  }

  void print(const std::vector<ShownFile>& files) const {
    if (flags_.long_lines) {
      for (const std::string& line :
           long_lines(files, {flags_.numeric, flags_.human, flags_.inodes, now_ns_}))
        put_line(line);
      return;
    }
    std::vector<std::string> names;
    for (const ShownFile& file : files)
      names.push_back(flags_.inodes ? std::to_string(file.attributes.ino.value) + " " + file.name
                                    : file.name);
    if (names_.on_terminal() && !flags_.one) names = in_columns(names, names_.width());
    for (const std::string& name : names) put_line(name);
  }

  nlohmann::ordered_json object(FileSystem& fs, const ListedEntry& entry, const std::string& path,
                                std::optional<InodeId> in = {}) {
    const Attributes& a = entry.attributes;
    std::optional<std::string> target;
    if (S_ISLNK(a.mode)) {
      with_file(fs, entry, in.value_or(a.ino), [&](InodeId ino) {
        if (auto read = told(path, fs.readlink(ino))) target = std::move(*read);
      });
    }
    // All of them or none, so that who reads it knows which to take back.
    const bool escaped = !is_utf8(path) || (target && !is_utf8(*target));
    const auto text = [escaped](const std::string& bytes) { return escaped ? printable(bytes) : bytes; };
    nlohmann::ordered_json one = {{"path", text(path)},
                                  {"name", text(entry.name)},
                                  {"mode", mode_text(a.mode)},
                                  {"permissions", fmt::format("{:04o}", a.mode & 07777)},
                                  {"inode", a.ino.value},
                                  {"links", a.nlink},
                                  {"uid", a.uid},
                                  {"gid", a.gid},
                                  {"user", user_text(a.uid)},
                                  {"group", group_text(a.gid)},
                                  {"size", a.size},
                                  {"allocated", a.allocated},
                                  {"mtime_ns", a.mtime_ns},
                                  {"ctime_ns", a.ctime_ns},
                                  {"atime_ns", a.atime_ns},
                                  {"btime_ns", a.btime_ns}};
    if (escaped) one["escaped"] = true;
    if (target) one["target"] = text(*target);
    return one;
  }
  // JSON has no other bytes.
  static bool is_utf8(const std::string& bytes) {
    try {
      (void)nlohmann::json(bytes).dump();
      return true;
    } catch (const nlohmann::json::exception&) {
      return false;
    }
  }
  void put_object(const nlohmann::ordered_json& one) {
    put(first_object_ ? "\n" : ",\n");
    put(one.dump());
    first_object_ = false;
  }

  const ListFlags& flags_;
  const std::int64_t now_ns_;
  const ShownNames names_;
  int code_ = 0;
  bool headings_ = false, blank_ = false, first_object_ = true;
};

}  // namespace

void add_ls(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("ls", "List files in a store, without a mount");
  command->set_help_flag("--help", "Print this help message and exit");
  auto o = std::make_shared<ListFlags>();
  add_places(*command, o->places, "What to list")->required();
  command->add_flag("-l", o->long_lines, "Mode, links, owners, size, time of the last change, as ls -l");
  command->add_flag("-a,--all", o->all, "Names that begin with a dot, too, with . and ..");
  command->add_flag("-A,--almost-all", o->almost_all, "The same without . and ..");
  command->add_flag("-R,--recursive", o->recursive, "Directories below, too");
  command->add_flag("-1", o->one, "One name a line, also on a terminal");
  command->add_flag("-d,--directory", o->directory, "Directories themselves, not what is in them");
  command->add_flag("-h,--human-readable", o->human, "With -l sizes like 4.0K");
  command->add_flag("-n,--numeric-uid-gid", o->numeric, "As -l, owners as numbers");
  command->add_flag("-i,--inode", o->inodes, "The inode number before each name");
  command->add_flag("-t", o->by_time, "Newest first");
  command->add_flag("-S", o->by_size, "Largest first");
  command->add_flag("-r,--reverse", o->reverse, "The other way round");
  command->add_flag("--json", o->json, "For programs: an array with an object for each file");
  add_foreign_owner(*command, o->foreign_owner);
  command->callback([o, &exit_code] {
    if (o->numeric) o->long_lines = true;
    exit_code = Lister(*o).run();
  });
}

}  // namespace cffs::cli
