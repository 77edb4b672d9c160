#pragma once
// Hard and symbolic links in tar archives.

#include <cstdint>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace flowtrain {

/// The members of an archive by name. Names are relative, without "." and ".." among their parts. If a name occurs
/// twice, the later member counts, as when the archive is unpacked.
class TarLinks {
 public:
  struct Extent {
    std::uint64_t offset, size_bytes;
  };
  /// A link that leads back to a folder above it, or links that list the archive many times over.
  struct Circle : std::runtime_error {
    using std::runtime_error::runtime_error;
  };

  void add_file(const std::string& name, Extent extent) { members_[name] = {Kind::file, extent, {}}; }
  void add_folder(const std::string& name) { members_[name] = {Kind::folder, {}, {}}; }
  void add_symbolic(const std::string& name, std::string_view target) {
    members_[name] = {Kind::symbolic, {}, std::string(target)};
  }
  /// Adds another name of the earlier member `target`.
  void add_hard(const std::string& name, const std::string& target);

  /// Calls `found` with each file that the link `name` leads to: once with `name` itself, or with names below it if it
  /// leads to a folder. Returns false if it leads out of the archive or nowhere. Throws Circle.
  bool follow(const std::string& name, const std::function<void(const std::string&, Extent)>& found);

 private:
  enum class Kind : std::uint8_t { file, folder, symbolic };
  struct Member {
    Kind kind;
    Extent extent;
    std::string target;
  };
  bool follow_to(const std::string& name, const std::string& shown,
                 const std::function<void(const std::string&, Extent)>& found, std::vector<std::string>& within);
  bool real_name(std::string path, std::string& name) const;

  std::map<std::string, Member> members_;
  std::size_t listed_ = 0;  // number of members of linked folders so far
};

}  // namespace flowtrain
