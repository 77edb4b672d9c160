#pragma once
// Reads Python's pickles from torch.save without Python and without executing anything: a pickle may only name entries
// of a fixed list, and everything else is refused. The list has the names of torch.load(weights_only=True), and those
// that programs store beside weights: times, paths, arguments of a command line, numbers of NumPy. Format:
// pickletools.py of CPython; protocols 2 to 5.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace flowtrain {

/// A value's place in Pickle::values. Values refer to each other by it, so depth and circles do no harm.
using PickleRef = std::uint32_t;

struct PickleNone {};
/// A value of a known type that cannot be a weight and holds none: a set, a device, a sparse tensor, a number of NumPy.
struct PickleOther {};
struct PickleBytes {
  std::string_view bytes;
};
struct PickleSequence {
  bool is_tuple;
  std::vector<PickleRef> items;
};
/// A dict, OrderedDict, defaultdict or Counter, in the order of insertion; the last of equal keys counts.
struct PickleDict {
  std::vector<std::pair<PickleRef, PickleRef>> items;
};
/// One of the known names.
struct PickleGlobal {
  enum class What : std::uint8_t { dict, default_dict, tensor, parameter, typed, storage, other } what;
  const char* dtype;  ///< type of a storage as in TensorView; otherwise null
};
/// A row of elements that torch keeps outside the pickle, found by its key.
struct PickleStorage {
  const char* dtype;
  std::string_view key;
  std::uint64_t elements;
};
/// A tensor: a window on a storage. `size` and `stride` are tuples of the same length.
struct PickleTensor {
  PickleRef storage;
  PickleRef size, stride;
  std::uint64_t offset;  ///< offset in elements
};

/// Texts are views into the bytes that were parsed.
using PickleValue = std::variant<PickleNone, PickleOther, bool, std::int64_t, double, std::string_view, PickleBytes,
                                 PickleSequence, PickleDict, PickleGlobal, PickleStorage, PickleTensor>;

struct Pickle {
  std::deque<PickleValue> values;
  PickleRef root = 0;
  std::uint64_t size_bytes = 0;  ///< size of the pickle itself; the bytes after it belong to other data

  /// Returns the value if it is a T, otherwise null.
  template <class T>
  const T* as(PickleRef at) const {
    return std::get_if<T>(&values[at]);
  }
};

/// Parses the pickle at the start of `bytes`; `path` is for messages. Memory is bounded by 2^19 values, whatever the
/// bytes say. Throws UserError(snapshot) with the byte and the reason: an unknown name ("it names os.system"), a call
/// of anything else, an instruction that torch.save does not write, too many values, damage.
Pickle parse_pickle(std::span<const std::byte> bytes, const std::string& path);

}  // namespace flowtrain
