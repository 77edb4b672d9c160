#include "sampling/io/tar_links.h"

#include <algorithm>

#include "sampling/core/utf8.h"

namespace flowtrain {
namespace {

/// The number of links that one name may lead through, as in Linux.
constexpr int most_links = 40;
/// The depth of links to folders within linked folders.
constexpr std::size_t most_nested = 8;
/// The length of the longest path in Linux.
constexpr std::size_t most_path_bytes = 4096;
/// The members that linked folders may list for each member of the archive, and in small archives.
constexpr std::size_t most_listed_each = 16, most_listed = std::size_t{1} << 20;

}  // namespace

void TarLinks::add_hard(const std::string& name, const std::string& target) {
  const auto found = members_.find(target);
  if (found != members_.end() && name != target) members_[name] = Member(found->second);
}

/// Resolves the links in all parts of `path`; returns false if they lead out of the archive or in circles, or make it
/// longer than a path may be.
bool TarLinks::real_name(std::string path, std::string& name) const {
  name.clear();
  for (int links = 0; !path.empty();) {
    if (path.size() > most_path_bytes) return false;
    const auto slash = std::min(path.find('/'), path.size());
    const std::string part = path.substr(0, slash);
    path.erase(0, slash + 1);
    if (part.empty() || part == ".") continue;
    const auto last = name.rfind('/');
    const std::string parent = last == name.npos ? "" : name.substr(0, last);
    if (part == "..") {
      if (name.empty()) return false;
      name = parent;
      continue;
    }
    const std::string before = name;
    name += (name.empty() ? "" : "/") + part;
    const auto member = members_.find(name);
    if (member == members_.end() || member->second.kind != Kind::symbolic) continue;
    const auto& target = member->second.target;
    if (target.empty() || target.starts_with('/') || ++links > most_links) return false;
    path = target + '/' + path;
    name = before;
  }
  return true;
}

bool TarLinks::follow(const std::string& name, const std::function<void(const std::string&, Extent)>& found) {
  std::vector<std::string> within;
  return follow_to(name, name, found, within);
}

/// `shown` is the name of the files found; `within` holds the linked folders that are being listed.
bool TarLinks::follow_to(const std::string& name, const std::string& shown,
                         const std::function<void(const std::string&, Extent)>& found,
                         std::vector<std::string>& within) {
  std::string real;
  if (!real_name(name, real)) return false;
  const auto member = members_.find(real);
  if (member != members_.end() && member->second.kind == Kind::file) {
    found(shown, member->second.extent);
    return true;
  }
  const std::string folder = real.empty() ? "" : real + '/';
  const auto first = members_.lower_bound(folder);
  const bool has_files = first != members_.end() && first->first.starts_with(folder);
  if (!has_files) return member != members_.end();
  if (within.size() >= most_nested || name.starts_with(folder) || std::ranges::find(within, real) != within.end())
    throw Circle("the link " + as_utf8(name) + " leads back to a folder above it, or through too many linked folders");
  within.push_back(real);
  for (auto each = first; each != members_.end() && each->first.starts_with(folder); ++each) {
    if (++listed_ > std::max(most_listed, most_listed_each * members_.size()))
      throw Circle("links such as " + as_utf8(name) + " list folders over and over");
    const std::string below = shown + '/' + each->first.substr(folder.size());
    if (each->second.kind == Kind::file) found(below, each->second.extent);
    if (each->second.kind == Kind::symbolic) follow_to(each->first, below, found, within);
  }
  within.pop_back();
  return true;
}

}  // namespace flowtrain
