#pragma once
// Records the host's part of a work graph: which operations it asks for, with which numbers.

#include <ATen/record_function.h>

#include <functional>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace flowtrain::testing {

/// A line for each operation that `work` asks for on this thread: its name, and its arguments but tensors. Not those
/// that an operation is made of, which are other ones on each device.
class KeptCalls {
 public:
  static std::vector<std::string> of(const std::function<void()>& work) {
    std::vector<std::string> calls;
    auto* const outer = std::exchange(lines(), &calls);
    const auto handle = at::addThreadLocalCallback(
        at::RecordFunctionCallback(&note, &leave).needsInputs(true).scopes({at::RecordScope::FUNCTION}));
    try {
      work();
    } catch (...) {
      end(handle, outer);
      throw;
    }
    end(handle, outer);
    return calls;
  }

  /// Those of `calls` at which a host waits for its device, and a graph cannot be captured.
  static std::set<std::string> waits(const std::vector<std::string>& calls) {
    static const std::set<std::string> names{"aten::item",     "aten::_local_scalar_dense", "aten::is_nonzero",
                                             "aten::nonzero",  "aten::masked_select",       "aten::equal",
                                             "aten::_unique2", "aten::unique_dim",          "aten::bincount"};
    std::set<std::string> found;
    for (auto& call : calls)
      if (const auto name = call.substr(0, call.find('(')); names.contains(name)) found.insert(name);
    return found;
  }

 private:
  static std::vector<std::string>*& lines() {
    thread_local std::vector<std::string>* here = nullptr;
    return here;
  }

  // Operations under way, one in another.
  static int& depth() {
    thread_local int here = 0;
    return here;
  }

  static void end(at::CallbackHandle handle, std::vector<std::string>* outer) {
    at::removeCallback(handle);
    lines() = outer;
  }

  static void tell(std::ostream& out, const c10::IValue& value) {
    if (value.isInt() || value.isDouble() || value.isBool() || value.isString()) out << value << ' ';
    if (value.isList() && !value.isTensorList())
      for (const c10::IValue& each : value.toListRef()) tell(out, each);
  }

  static std::unique_ptr<at::ObserverContext> note(const at::RecordFunction& call) {
    if (depth()++ > 0) return nullptr;
    std::ostringstream line;
    line.precision(17);
    line << call.name() << '(';
    for (const c10::IValue& value : call.inputs()) tell(line, value);
    lines()->push_back(line.str());
    return nullptr;
  }

  static void leave(const at::RecordFunction&, at::ObserverContext*) { --depth(); }
};

}  // namespace flowtrain::testing
