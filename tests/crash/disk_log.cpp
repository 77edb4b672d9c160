#include "tests/crash/disk_log.h"

#include <fcntl.h>
#include <stdio.h>  // RENAME_EXCHANGE

#include <map>
#include <optional>
#include <utility>

#include "sampling/core/error.h"

namespace flowtrain {
namespace {

namespace fs = std::filesystem;

/// Follows the calls in their order, as a process sees them.
class Follower {
 public:
  explicit Follower(const fs::path& folder) : root_(fs::canonical(folder)) { add_node({DiskNode::folder}); }

  void follow(const TracedCall& call) {
    if (call.action == Action::report) return step({.kind = DiskStep::report, .line = call.text});
    if (call.result < 0) return;
    switch (call.action) {
      case Action::open: return open(call);
      case Action::write: return write(call);
      case Action::resize: return step({.kind = DiskStep::resize, .node = node_of(call.path), .offset = call.offset});
      case Action::sync: return step({.kind = DiskStep::sync, .node = node_of(call.path)});
      case Action::rename: return rename(call);
      case Action::link: return change({{place(call.second, node_of(call.path))}});
      case Action::symlink: return change({{place(call.path, add_node({DiskNode::link, call.text}))}});
      case Action::make_folder: return change({{place(call.path, add_node({DiskNode::folder}))}});
      case Action::unlink:
      case Action::remove_folder: return change({{place(call.path, -1)}});
      case Action::unmodelled: throw InternalError("the model of a disk does not know " + call.name + "()");
      case Action::look:
      case Action::read:
      case Action::close:
      case Action::report: return;
    }
  }

  DiskLog take() { return std::move(log_); }

 private:
  void step(DiskStep step) { log_.steps.push_back(std::move(step)); }

  int add_node(DiskNode node) {
    log_.nodes.push_back(std::move(node));
    folders_.emplace_back();
    return static_cast<int>(log_.nodes.size()) - 1;
  }

  std::optional<int> find(const fs::path& path) const {
    int node = 0;
    for (const auto& name : path.lexically_relative(root_)) {
      if (name == ".") continue;
      const auto& names = folders_[static_cast<std::size_t>(node)];
      const auto found = names.find(name.string());
      if (found == names.end()) return {};
      node = found->second;
    }
    return node;
  }

  int node_of(const fs::path& path) const {
    if (const auto node = find(path)) return *node;
    throw InternalError("the model of a disk has no " + path.string());
  }

  NameChange place(const fs::path& path, int node) const {
    return {node_of(path.parent_path()), path.filename().string(), node};
  }

  void change(std::vector<NameChange> changes) {
    for (const auto& [folder, name, node] : changes) {
      auto& names = folders_[static_cast<std::size_t>(folder)];
      if (node < 0)
        names.erase(name);
      else
        names[name] = node;
    }
    step({.kind = DiskStep::names, .changes = std::move(changes)});
  }

  void open(const TracedCall& call) {
    const auto known = find(call.path);
    if (!known && (call.flags & O_CREAT)) change({{place(call.path, add_node({DiskNode::file}))}});
    if (known && (call.flags & O_TRUNC)) step({.kind = DiskStep::resize, .node = *known});
  }

  void write(const TracedCall& call) {
    DiskStep write{.kind = DiskStep::write, .node = node_of(call.path), .offset = call.offset, .data = call.data};
    write.data.resize(static_cast<std::size_t>(call.result));
    step(std::move(write));
  }

  void rename(const TracedCall& call) {
    const int from = node_of(call.path);
    if (call.flags & RENAME_EXCHANGE) return change({place(call.path, node_of(call.second)), place(call.second, from)});
    change({place(call.path, -1), place(call.second, from)});
  }

  fs::path root_;
  DiskLog log_;
  std::vector<std::map<std::string, int>> folders_;  // by node: the names in it
};

}  // namespace

DiskLog disk_log(const fs::path& folder, std::span<const TracedCall> calls) {
  Follower follower(folder);
  for (const auto& call : calls) follower.follow(call);
  return follower.take();
}

}  // namespace flowtrain
