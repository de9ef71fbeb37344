#include "core/browse/find_expression.h"

#include <fnmatch.h>
#include <grp.h>
#include <pwd.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "core/base/clock.h"
#include "core/base/printable.h"

namespace cffs {
namespace {

constexpr std::int64_t kFoundSecondNs = 1'000'000'000;
using Test = std::function<bool(const FoundFile&, FoundVerdict&)>;

tl::unexpected<Error> wrong(const std::string& what) { return fail(Error::command_line("find: " + what)); }

template <typename Number>
std::optional<Number> number_in(std::string_view text, int base = 10) {
  Number value{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (problem != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

// "+N", "-N", "N": more than, less than, just so many.
struct Compared {
  char sign = '=';
  std::uint64_t n = 0;
  bool holds(std::int64_t value) const {
    const auto wanted = static_cast<std::int64_t>(n);
    return sign == '+' ? value > wanted : sign == '-' ? value < wanted : value == wanted;
  }
};

Result<Compared> comparison(const std::string& word, std::string_view text) {
  Compared compared;
  std::string_view digits = text;
  if (digits.starts_with('+') || digits.starts_with('-')) {
    compared.sign = digits.front();
    digits.remove_prefix(1);
  }
  const auto n = number_in<std::uint64_t>(digits);
  if (!n || *n > static_cast<std::uint64_t>(INT64_MAX))
    return wrong(word + " wants a number, with + before it for more and - for less, not '" + printable(text) +
                 "'");
  compared.n = *n;
  return compared;
}

Result<Test> size_test(const std::string& text) {
  static const std::map<char, std::uint64_t> kUnits{{'b', 512},        {'c', 1},          {'w', 2},
                                                    {'k', 1ull << 10}, {'M', 1ull << 20}, {'G', 1ull << 30}};
  std::string_view number = text;
  std::uint64_t unit = 512;
  if (!number.empty() && (number.back() < '0' || number.back() > '9')) {
    const auto found = kUnits.find(number.back());
    if (found == kUnits.end())
      return wrong("-size wants a number with c, b, w, k, M or G behind it, not '" + printable(text) + "'");
    unit = found->second;
    number.remove_suffix(1);
  }
  CFFS_TRY(const Compared compared, comparison("-size", number));
  return Test([compared, unit](const FoundFile& file, FoundVerdict&) {
    const std::uint64_t size = file.attributes.size;
    return compared.holds(static_cast<std::int64_t>(size / unit + (size % unit != 0 ? 1 : 0)));
  });
}

Result<Test> type_test(const std::string& text) {
  std::vector<mode_t> types;
  static const std::map<char, mode_t> kTypes{{'f', S_IFREG},  {'d', S_IFDIR}, {'l', S_IFLNK}, {'p', S_IFIFO},
                                             {'s', S_IFSOCK}, {'c', S_IFCHR}, {'b', S_IFBLK}};
  bool well = !text.empty() && text.size() % 2 == 1;
  for (std::size_t i = 0; well && i < text.size(); ++i) {
    const auto type = kTypes.find(text[i]);
    well = i % 2 == 1 ? text[i] == ',' : type != kTypes.end();
    if (well && i % 2 == 0) types.push_back(type->second);
  }
  if (!well)
    return wrong("-type wants f, d, l, p, s, c or b, several with commas between them, not '" +
                 printable(text) + "'");
  return Test([types](const FoundFile& file, FoundVerdict&) {
    return std::find(types.begin(), types.end(), file.attributes.mode & S_IFMT) != types.end();
  });
}

// All of the bits just so; with - all of these at least, with / any of them.
Result<Test> permission_test(const std::string& text) {
  std::string_view digits = text;
  const char how = digits.empty() ? '=' : digits.front();
  if (how == '-' || how == '/') digits.remove_prefix(1);
  const auto bits = number_in<mode_t>(digits, 8);
  if (!bits || *bits > 07777)
    return wrong("-perm wants an octal mode, with - before it for all of these bits or / for any, not '" +
                 printable(text) + "'");
  return Test([how, bits = *bits](const FoundFile& file, FoundVerdict&) {
    const mode_t mode = file.attributes.mode & 07777;
    if (how == '-') return (mode & bits) == bits;
    if (how == '/') return bits == 0 || (mode & bits) != 0;
    return mode == bits;
  });
}

Test name_test(const std::string& pattern, bool of_path, bool any_case) {
  return [pattern, of_path, any_case](const FoundFile& file, FoundVerdict&) {
    const auto fits = [&](std::string_view text) {
      return ::fnmatch(pattern.c_str(), std::string(text).c_str(), any_case ? FNM_CASEFOLD : 0) == 0;
    };
    return of_path ? fits(file.path) || fits(file.inside) : fits(file.name);
  };
}

std::int64_t time_in(const Attributes& a, char which) {
  return which == 'm' ? a.mtime_ns : which == 'c' ? a.ctime_ns : a.atime_ns;
}

// Whole days of age; minutes are rounded up, as find has it.
Result<Test> age_test(const std::string& word, const std::string& text, std::int64_t now_ns) {
  const bool days = word.ends_with("time");
  CFFS_TRY(const Compared compared, comparison(word, text));
  return Test([compared, days, now_ns, which = word[1]](const FoundFile& file, FoundVerdict&) {
    const std::int64_t unit = (days ? 86'400 : 60) * kFoundSecondNs;
    const std::int64_t age = time_between(time_in(file.attributes, which), now_ns);
    std::int64_t n = age / unit;
    if (days && age % unit < 0) --n;
    if (!days && age % unit > 0) ++n;
    return compared.holds(n);
  });
}

Test links_test(Compared compared) {
  return [compared](const FoundFile& f, FoundVerdict&) {
    return compared.holds(static_cast<std::int64_t>(f.attributes.nlink));
  };
}
Test number_test(Compared compared) {
  return [compared](const FoundFile& f, FoundVerdict&) {
    return compared.holds(static_cast<std::int64_t>(f.attributes.ino.value));
  };
}
Test owner_test(Compared compared, bool user) {
  return [compared, user](const FoundFile& f, FoundVerdict&) {
    return compared.holds(user ? f.attributes.uid : f.attributes.gid);
  };
}

}  // namespace

struct FindExpression::Node {
  enum class Kind : std::uint8_t { test, negated, both, either } kind = Kind::test;
  Test test;
  // Of both and either any number: as many as somebody writes one behind the other, and what looks into them takes no more of the stack
  // for it.
  std::vector<std::unique_ptr<Node>> parts;

  bool holds(const FoundFile& file, FoundVerdict& verdict) const {
    switch (kind) {
      case Kind::test:
        return test(file, verdict);
      case Kind::negated:
        return !parts.front()->holds(file, verdict);
      case Kind::both:
        return std::all_of(parts.begin(), parts.end(),
                           [&](const auto& part) { return part->holds(file, verdict); });
      case Kind::either:
        return std::any_of(parts.begin(), parts.end(),
                           [&](const auto& part) { return part->holds(file, verdict); });
    }
    return false;
  }
};

class FindExpression::Parser {
 public:
  Parser(const std::vector<std::string>& words, std::int64_t now_ns, const TimeOf& time_of,
         FindExpression& into)
      : words_(words), now_ns_(now_ns), time_of_(time_of), into_(into) {}

  Status parse() {
    std::unique_ptr<Node> root;
    if (!words_.empty()) {
      CFFS_TRY(root, either());
    }
    if (at_ < words_.size())
      return wrong(words_[at_] == ")"
                       ? "')' closes nothing"
                       : "a place ('" + printable(words_[at_]) + "') stands before the expression");
    if (!prints_) {
      auto print = node([](const FoundFile&, FoundVerdict& verdict) {
        verdict.prints.push_back('\n');
        return true;
      });
      root = root ? joined(Node::Kind::both, std::move(root), std::move(print)) : std::move(print);
    }
    into_.root_ = std::move(root);
    return {};
  }

 private:
  using NodePtr = std::unique_ptr<Node>;
  static NodePtr node(Test test) {
    auto made = std::make_unique<Node>();
    made->test = std::move(test);
    return made;
  }
  // From the left, so that a chain of one kind is one node.
  static NodePtr joined(Node::Kind kind, NodePtr left, NodePtr right) {
    if (left->kind != kind) {
      auto made = std::make_unique<Node>();
      made->kind = kind;
      made->parts.push_back(std::move(left));
      left = std::move(made);
    }
    left->parts.push_back(std::move(right));
    return left;
  }

  bool ahead(std::initializer_list<const char*> any) const {
    return at_ < words_.size() &&
           std::any_of(any.begin(), any.end(), [&](const char* word) { return words_[at_] == word; });
  }

  Result<NodePtr> either() {
    CFFS_TRY(NodePtr left, both());
    while (ahead({"-o", "-or"})) {
      ++at_;
      CFFS_TRY(NodePtr right, both());
      left = joined(Node::Kind::either, std::move(left), std::move(right));
    }
    return left;
  }

  Result<NodePtr> both() {
    CFFS_TRY(NodePtr left, one());
    for (;;) {
      if (at_ == words_.size() || ahead({"-o", "-or", ")"}) || !begins(words_[at_])) return left;
      if (ahead({"-a", "-and"})) ++at_;
      CFFS_TRY(NodePtr right, one());
      left = joined(Node::Kind::both, std::move(left), std::move(right));
    }
  }

  // Nested as deep as somebody writes it.
  Result<NodePtr> one() {
    constexpr unsigned kDeepest = 1000;
    if (at_ == words_.size() || ahead({"-o", "-or", "-a", "-and", ")"}))
      return wrong(at_ == 0 ? "an expression does not begin with '" + words_[at_] + "'"
                            : "after '" + printable(words_[at_ - 1]) + "' a test is missing");
    if (++nested_ > kDeepest) return wrong("the expression is nested too deep");
    const std::string word = words_[at_++];
    Result<NodePtr> result;
    if (word == "!" || word == "-not") {
      CFFS_TRY(NodePtr inner, one());
      auto made = std::make_unique<Node>();
      made->kind = Node::Kind::negated;
      made->parts.push_back(std::move(inner));
      result = std::move(made);
    } else if (word == "(") {
      CFFS_TRY(NodePtr inner, either());
      if (!ahead({")"})) return wrong("a '(' is not closed");
      ++at_;
      result = std::move(inner);
    } else {
      CFFS_TRY(Test test, primary(word));
      result = node(std::move(test));
    }
    --nested_;
    return result;
  }

  Result<std::string> argument(const std::string& word) {
    if (at_ == words_.size()) return wrong(word + " wants something behind it");
    return words_[at_++];
  }

  Result<Test> depth(const std::string& word, unsigned& into) {
    CFFS_TRY(const std::string text, argument(word));
    const auto n = number_in<unsigned>(text);
    if (!n) return wrong(word + " wants a number, not '" + printable(text) + "'");
    into = *n;
    return always();
  }

  static Test always() {
    return [](const FoundFile&, FoundVerdict&) { return true; };
  }

  Result<Test> primary(const std::string& word) {
    if (word == "-name" || word == "-iname" || word == "-path" || word == "-ipath" || word == "-wholename" ||
        word == "-iwholename") {
      CFFS_TRY(const std::string pattern, argument(word));
      return name_test(pattern, word != "-name" && word != "-iname", word[1] == 'i');
    }
    if (word == "-type" || word == "-size" || word == "-perm") {
      CFFS_TRY(const std::string text, argument(word));
      return word == "-type" ? type_test(text) : word == "-size" ? size_test(text) : permission_test(text);
    }
    if (word == "-mtime" || word == "-ctime" || word == "-atime" || word == "-mmin" || word == "-cmin" ||
        word == "-amin") {
      CFFS_TRY(const std::string text, argument(word));
      return age_test(word, text, now_ns_);
    }
    if (word == "-newer") {
      CFFS_TRY(const std::string file, argument(word));
      CFFS_TRY(const std::int64_t time_ns, time_of_(file));
      return Test([time_ns](const FoundFile& f, FoundVerdict&) { return f.attributes.mtime_ns > time_ns; });
    }
    if (word == "-user" || word == "-uid") return owner(word, true);
    if (word == "-group" || word == "-gid") return owner(word, false);
    if (word == "-links" || word == "-inum") {
      CFFS_TRY(const std::string text, argument(word));
      CFFS_TRY(const Compared compared, comparison(word, text));
      return word == "-links" ? links_test(compared) : number_test(compared);
    }
    if (word == "-maxdepth") return depth(word, into_.most_depth_);
    if (word == "-mindepth") return depth(word, into_.least_depth_);
    return action(word);
  }

  Result<Test> owner(const std::string& word, bool user) {
    CFFS_TRY(const std::string text, argument(word));
    std::optional<std::uint64_t> id = number_in<std::uint64_t>(text);
    if (word == "-user" || word == "-group") {
      if (const passwd* found = user ? ::getpwnam(text.c_str()) : nullptr; found != nullptr)
        id = found->pw_uid;
      if (const group* found = user ? nullptr : ::getgrnam(text.c_str()); found != nullptr)
        id = found->gr_gid;
      if (!id) return wrong(word + ": this machine knows no '" + printable(text) + "', and it is no number");
      return owner_test({'=', *id}, user);
    }
    CFFS_TRY(const Compared compared, comparison(word, text));
    return owner_test(compared, user);
  }
  Result<Test> action(const std::string& word) {
    if (word == "-empty") {
      return Test([](const FoundFile& f, FoundVerdict&) {
        if (S_ISDIR(f.attributes.mode)) return f.is_empty_directory && f.is_empty_directory();
        return S_ISREG(f.attributes.mode) && f.attributes.size == 0;
      });
    }
    if (word == "-true") return always();
    if (word == "-false") return Test([](const FoundFile&, FoundVerdict&) { return false; });
    if (word == "-print" || word == "-print0") {
      prints_ = true;
      return Test([end = word == "-print" ? '\n' : '\0'](const FoundFile&, FoundVerdict& verdict) {
        verdict.prints.push_back(end);
        return true;
      });
    }
    if (word == "-prune") {
      return Test([](const FoundFile&, FoundVerdict& verdict) { return verdict.prune = true; });
    }
    if (word == "-quit") {
      return Test([](const FoundFile&, FoundVerdict& verdict) { return verdict.quit = true; });
    }
    if (word == "-delete" || word.starts_with("-exec") || word.starts_with("-ok") ||
        word.starts_with("-fprint") || word == "-ls" || word == "-printf" || word == "-fls") {
      return wrong(
          word +
          " is not for a store that is only looked at; hand -print0 to xargs -0, or mount it and use find");
    }
    return wrong("'" + printable(word) + "' is no test that is known here; cffs find --help has them");
  }

  const std::vector<std::string>& words_;
  const std::int64_t now_ns_;
  const TimeOf& time_of_;
  FindExpression& into_;
  std::size_t at_ = 0;
  unsigned nested_ = 0;
  bool prints_ = false;
};

FindExpression::FindExpression() = default;
FindExpression::FindExpression(FindExpression&&) noexcept = default;
FindExpression& FindExpression::operator=(FindExpression&&) noexcept = default;
FindExpression::~FindExpression() = default;

bool FindExpression::begins(const std::string& word) {
  return word == "(" || word == ")" || word == "!" || (word.size() > 1 && word.front() == '-');
}

Result<FindExpression> FindExpression::parse(const std::vector<std::string>& words, std::int64_t now_ns,
                                             const TimeOf& time_of) {
  FindExpression expression;
  CFFS_TRY_VOID(Parser(words, now_ns, time_of, expression).parse());
  return expression;
}

FoundVerdict FindExpression::ask(const FoundFile& file) const {
  FoundVerdict verdict;
  (void)root_->holds(file, verdict);
  return verdict;
}

}  // namespace cffs
