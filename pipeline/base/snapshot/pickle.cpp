#include "pipeline/base/snapshot/pickle.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <unordered_map>

#include "pipeline/base/snapshot/byte_reader.h"
#include "pipeline/base/snapshot/safetensors.h"
#include "sampling/core/error.h"

namespace flowtrain {
namespace {

// A tensor of a state_dict takes some 26 values; each costs about 40 bytes.
constexpr std::size_t max_values = std::size_t{1} << 19;
constexpr std::size_t max_dimensions = 64;  // torch's own bound
constexpr std::size_t max_name_bytes = 256;
constexpr int newest_protocol = 5;

using What = PickleGlobal::What;

struct StorageType {
  std::string_view name;  ///< the class's name without "Storage"
  const char* dtype;
};
constexpr StorageType storage_types[] = {
    {"Double", "F64"}, {"Float", "F32"}, {"Half", "F16"},   {"BFloat16", "BF16"},    {"Long", "I64"},
    {"Int", "I32"},    {"Short", "I16"}, {"Char", "I8"},    {"Byte", "U8"},          {"Bool", "BOOL"},
    {"QInt8", "I8"},   {"QUInt8", "U8"}, {"QInt32", "I32"}, {"ComplexFloat", "C64"}, {"ComplexDouble", "C128"}};

const char* dtype_of_type(std::string_view name, std::string_view ending) {
  if (!name.ends_with(ending)) return nullptr;
  name.remove_suffix(ending.size());
  const auto* const found = std::ranges::find(storage_types, name, &StorageType::name);
  return found == std::end(storage_types) ? nullptr : found->dtype;
}

/// Returns whether it is a dtype or a quantizer: torch.float32, torch.quint4x2, torch.per_tensor_affine.
bool is_dtype(std::string_view name) {
  if (name.starts_with("per_tensor_") || name.starts_with("per_channel_")) return true;
  for (const std::string_view kind : {"float", "bfloat", "double", "half", "int", "uint", "short", "long", "bool",
                                      "complex", "qint", "quint", "bits"})
    if (name.starts_with(kind) && (name == kind || (name[kind.size()] >= '0' && name[kind.size()] <= '9'))) return true;
  return false;
}

struct KnownName {
  std::string_view module, name;
  What what;
};
constexpr KnownName known_names[] = {{"collections", "OrderedDict", What::dict},
                                     {"collections", "Counter", What::dict},
                                     {"collections", "defaultdict", What::default_dict},
                                     {"torch._utils", "_rebuild_tensor", What::tensor},
                                     {"torch._utils", "_rebuild_tensor_v2", What::tensor},
                                     {"torch._utils", "_rebuild_parameter", What::parameter},
                                     {"torch._utils", "_rebuild_parameter_with_state", What::parameter},
                                     {"torch.nn.parameter", "Parameter", What::parameter},
                                     {"torch._tensor", "_rebuild_from_type_v2", What::typed},
                                     {"torch._utils", "_rebuild_tensor_v3", What::other},
                                     {"torch._utils", "_rebuild_qtensor", What::other},
                                     {"torch._utils", "_rebuild_sparse_tensor", What::other},
                                     {"torch._utils", "_rebuild_nested_tensor", What::other},
                                     {"torch._utils", "_rebuild_meta_tensor_no_storage", What::other},
                                     {"torch._utils", "_rebuild_wrapper_subclass", What::other},
                                     {"torch._utils", "_rebuild_device_tensor_from_numpy", What::other},
                                     {"torch._utils", "_rebuild_device_tensor_from_cpu_tensor", What::other},
                                     {"torch", "Tensor", What::other},
                                     {"torch", "Size", What::other},
                                     {"torch", "device", What::other},
                                     {"torch.serialization", "_get_layout", What::other},
                                     {"_codecs", "encode", What::other},
                                     {"datetime", "date", What::other},
                                     {"datetime", "datetime", What::other},
                                     {"datetime", "time", What::other},
                                     {"datetime", "timedelta", What::other},
                                     {"datetime", "timezone", What::other},
                                     {"argparse", "Namespace", What::other},
                                     {"types", "SimpleNamespace", What::other},
                                     {"pathlib", "PosixPath", What::other},
                                     {"pathlib", "WindowsPath", What::other},
                                     {"pathlib._local", "PosixPath", What::other},
                                     {"pathlib._local", "WindowsPath", What::other},
                                     {"numpy", "dtype", What::other},
                                     {"numpy", "ndarray", What::other},
                                     {"numpy.core.multiarray", "scalar", What::other},
                                     {"numpy.core.multiarray", "_reconstruct", What::other},
                                     {"numpy._core.multiarray", "scalar", What::other},
                                     {"numpy._core.multiarray", "_reconstruct", What::other}};
/// These are Python's own; "__builtin__" is their module's name in Python 2, and so in protocol 2.
constexpr std::string_view known_builtins[] = {"bool", "bytearray", "complex", "dict", "float", "frozenset",
                                               "int",  "list",      "set",     "str",  "tuple"};

/// The only names that a pickle may call or refer to.
std::optional<PickleGlobal> known_global(std::string_view module, std::string_view name) {
  for (const auto& known : known_names)
    if (module == known.module && name == known.name) return PickleGlobal{known.what, nullptr};
  if (module == "builtins" || module == "__builtin__") {
    if (std::ranges::find(known_builtins, name) == std::end(known_builtins)) return {};
    return PickleGlobal{What::other, nullptr};
  }
  if (module == "torch.storage" && name == "UntypedStorage") return PickleGlobal{What::storage, "U8"};
  if (module != "torch" && module != "torch.cuda" && module != "torch.sparse" && module != "torch.cuda.sparse")
    return {};
  if (const auto* dtype = dtype_of_type(name, "Storage")) return PickleGlobal{What::storage, dtype};
  if (dtype_of_type(name, "Tensor") || (module == "torch" && is_dtype(name))) return PickleGlobal{What::other, nullptr};
  return {};
}

/// Python's virtual machine for pickles: a stack, marks on it, and a memo of stored values.
class Unpickler {
 public:
  Unpickler(std::span<const std::byte> bytes, const std::string& path)
      : reader_(bytes, path + ": the pickle"), path_(path) {}

  Pickle run() {
    while (true) {
      began_ = reader_.at();
      const auto instruction = reader_.number<unsigned char>();
      if (instruction == '.') break;  // STOP
      step(instruction);
    }
    pickle_.root = pop();
    pickle_.size_bytes = reader_.at();
    return std::move(pickle_);
  }

 private:
  [[noreturn]] void fail(const std::string& what, const std::string& hint = "get or write the file again") const {
    throw UserError(ExitCode::snapshot, path_ + ": at byte " + std::to_string(began_) + " of the pickle: " + what,
                    hint);
  }

  /// Runs an instruction; the comments are its names in pickletools.py.
  void step(unsigned char instruction) {
    switch (instruction) {
      case 0x80: return check_protocol();   // PROTO
      case 0x95: return reader_.skip(8);    // FRAME: its length, useful for reading ahead only
      case 'N': return push(PickleNone{});  // opcode NONE
      case 0x88: return push(true);         // NEWTRUE
      case 0x89: return push(false);        // NEWFALSE
      case 'J': return push(std::int64_t{reader_.number<std::int32_t>()});    // BININT
      case 'K': return push(std::int64_t{reader_.number<std::uint8_t>()});    // BININT1
      case 'M': return push(std::int64_t{reader_.number<std::uint16_t>()});   // BININT2
      case 0x8a: return push_long(reader_.number<std::uint8_t>());            // LONG1
      case 'G': return push(big_endian_double());                             // BINFLOAT
      case 'U':                                                               // SHORT_BINSTRING: a str of Python 2
      case 0x8c: return push(reader_.text(reader_.number<std::uint8_t>()));   // SHORT_BINUNICODE
      case 'T':                                                               // BINSTRING
      case 'X': return push(reader_.text(reader_.number<std::uint32_t>()));   // BINUNICODE
      case 0x8d: return push(reader_.text(reader_.number<std::uint64_t>()));  // BINUNICODE8
      case 'C': return push(PickleBytes{reader_.text(reader_.number<std::uint8_t>())});    // SHORT_BINBYTES
      case 'B': return push(PickleBytes{reader_.text(reader_.number<std::uint32_t>())});   // BINBYTES
      case 0x8e:                                                                           // BINBYTES8
      case 0x96: return push(PickleBytes{reader_.text(reader_.number<std::uint64_t>())});  // BYTEARRAY8
      case '(': return set_mark();                                                         // MARK
      case ')': return push(PickleSequence{true, {}});                                     // EMPTY_TUPLE
      case 0x85: return push(PickleSequence{true, pop_last(1)});                           // TUPLE1
      case 0x86: return push(PickleSequence{true, pop_last(2)});                           // TUPLE2
      case 0x87: return push(PickleSequence{true, pop_last(3)});                           // TUPLE3
      case 't': return push(PickleSequence{true, pop_to_mark()});                          // TUPLE
      case ']': return push(PickleSequence{false, {}});                                    // EMPTY_LIST
      case 'a': return append(pop_last(1));                                                // APPEND
      case 'e': return append(pop_to_mark());                                              // APPENDS
      case '}': return push(PickleDict{});                                                 // EMPTY_DICT
      case 's': return set_items(pop_last(2));                                             // SETITEM
      case 'u': return set_items(pop_to_mark());                                           // SETITEMS
      case 0x8f: return push(PickleOther{});                                               // EMPTY_SET
      case 0x90: return add_to_set(pop_to_mark());                                         // ADDITEMS
      case 0x91: pop_to_mark(); return push(PickleOther{});                                // FROZENSET
      case 'q': return remember(reader_.number<std::uint8_t>());                           // BINPUT
      case 'r': return remember(reader_.number<std::uint32_t>());                          // LONG_BINPUT
      case 0x94: return remember(static_cast<std::uint32_t>(memo_.size()));                // MEMOIZE
      case 'h': return recall(reader_.number<std::uint8_t>());                             // BINGET
      case 'j': return recall(reader_.number<std::uint32_t>());                            // LONG_BINGET
      case 'c': return push_global();                                                      // GLOBAL
      case 0x93: return push_stack_global();                                               // STACK_GLOBAL
      case 'R':                                                                            // REDUCE
      case 0x81: return call();                                                            // NEWOBJ
      case 'b': return build();                                                            // BUILD
      case 'Q': return push(storage(pop()));                                               // BINPERSID
    }
    fail("instruction " + std::to_string(instruction) + ", which torch.save does not write");
  }

  void check_protocol() {
    const auto protocol = reader_.number<std::uint8_t>();
    if (protocol < 2 || protocol > newest_protocol)
      fail("protocol " + std::to_string(protocol) + ", expected 2 to 5", "save it with torch.save's own protocol");
  }

  // --- The stack ---

  void push_ref(PickleRef ref) {
    count_value();
    stack_.push_back(ref);
  }
  PickleRef add(PickleValue value) {
    pickle_.values.push_back(std::move(value));
    return static_cast<PickleRef>(pickle_.values.size() - 1);
  }
  void push(PickleValue value) { push_ref(add(std::move(value))); }
  void set_mark() {
    count_value();
    marks_.push_back(stack_.size());
  }
  void count_value() {
    if (++pushed_ > max_values) fail("more than 2^19 values");
  }
  /// Values below the last mark belong to what is being built there.
  PickleRef pop() {
    if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) fail("it needs a value, but there is none");
    const auto ref = stack_.back();
    stack_.pop_back();
    return ref;
  }
  std::vector<PickleRef> pop_last(std::size_t count) {
    std::vector<PickleRef> items(count);
    while (count > 0) items[--count] = pop();
    return items;
  }
  std::vector<PickleRef> pop_to_mark() {
    if (marks_.empty()) fail("it goes back to a mark, but there is none");
    const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<PickleRef> items(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    marks_.pop_back();
    return items;
  }
  /// Returns the value on top, which stays there, as a T.
  template <class T>
  T& top_as(const char* expected) {
    const auto ref = pop();
    stack_.push_back(ref);
    auto* value = std::get_if<T>(&pickle_.values[ref]);
    if (!value) fail(std::string("a change of an object that is not a ") + expected);
    return *value;
  }
  void remember(std::uint32_t key) {
    const auto ref = pop();
    stack_.push_back(ref);
    memo_[key] = ref;
    if (memo_.size() > max_values) fail("more than 2^19 values");
  }
  void recall(std::uint32_t key) {
    const auto found = memo_.find(key);
    if (found == memo_.end()) fail("memo " + std::to_string(key) + ", which was never written");
    push_ref(found->second);
  }

  // --- Values ---

  /// Pushes a number. One beyond 64 bits, such as a seed, cannot be part of a tensor.
  void push_long(std::uint8_t size_bytes) {
    const auto bytes = reader_.take(size_bytes);
    if (size_bytes > sizeof(std::int64_t)) return push(PickleOther{});
    const bool negative = size_bytes > 0 && std::to_integer<unsigned>(bytes.back()) >= 0x80;
    std::uint64_t value = negative ? ~std::uint64_t{0} : 0;
    for (std::size_t i = size_bytes; i > 0; --i) value = value << 8 | std::to_integer<std::uint64_t>(bytes[i - 1]);
    push(static_cast<std::int64_t>(value));
  }
  double big_endian_double() { return std::bit_cast<double>(__builtin_bswap64(reader_.number<std::uint64_t>())); }
  void append(const std::vector<PickleRef>& items) {
    auto& list = top_as<PickleSequence>("list");
    if (list.is_tuple) fail("a change of a tuple");
    list.items.insert(list.items.end(), items.begin(), items.end());
  }
  void add_to_set(const std::vector<PickleRef>&) { top_as<PickleOther>("set"); }
  void set_items(const std::vector<PickleRef>& items) {
    auto& dict = top_as<PickleDict>("dict");
    if (items.size() % 2 != 0) fail("a key without a value");
    for (std::size_t i = 0; i < items.size(); i += 2) dict.items.emplace_back(items[i], items[i + 1]);
  }

  // --- Names and calls ---

  void push_global() {
    const auto module = line(), name = line();
    push(global(module, name));
  }
  void push_stack_global() {
    const auto* name = pickle_.as<std::string_view>(pop());
    const auto* module = pickle_.as<std::string_view>(pop());
    if (!name || !module) fail("a name that is not text");
    push(global(*module, *name));
  }
  std::string_view line() {
    const auto start = reader_;
    std::size_t size_bytes = 0;
    while (reader_.number<char>() != '\n')
      if (++size_bytes > max_name_bytes) fail("a name of more than 256 bytes");
    return ByteReader(start).text(size_bytes);
  }
  PickleGlobal global(std::string_view module, std::string_view name) const {
    if (const auto known = known_global(module, name)) return *known;
    fail("it names " + shown(std::string(module) + "." + std::string(name)) +
             ", and only tensors, dicts, lists and plain values are taken",
         "save the weights alone: torch.save(model.state_dict(), path)");
  }

  void call() {
    const auto arguments = pop();
    push_ref(result(pop(), arguments));
  }
  PickleRef result(PickleRef callable_ref, PickleRef arguments) {
    const auto* callable = pickle_.as<PickleGlobal>(callable_ref);
    const auto* tuple = pickle_.as<PickleSequence>(arguments);
    if (!callable || !tuple || !tuple->is_tuple) fail("a call of something that cannot be called");
    switch (callable->what) {
      case What::dict: return dict(tuple->items);
      case What::default_dict: return add(PickleDict{});
      case What::tensor: return add(tensor(tuple->items));
      case What::parameter: return parameter(tuple->items);
      case What::typed: return typed(tuple->items);
      case What::other: return add(PickleOther{});
      case What::storage: break;
    }
    fail("a call of a storage's class");
  }
  /// Makes the dict of OrderedDict(), Counter({key: value, …}) or Python 2's OrderedDict([[key, value], …]).
  PickleRef dict(const std::vector<PickleRef>& arguments) {
    if (arguments.size() == 1 && pickle_.as<PickleDict>(arguments[0])) return arguments[0];
    PickleDict made;
    const auto* pairs = arguments.size() == 1 ? pickle_.as<PickleSequence>(arguments[0]) : nullptr;
    if (!arguments.empty() && !pairs) fail("an OrderedDict of unknown arguments");
    for (std::size_t i = 0; pairs && i < pairs->items.size(); ++i) {
      const auto* pair = pickle_.as<PickleSequence>(pairs->items[i]);
      if (!pair || pair->items.size() != 2) fail("an OrderedDict with an entry that is not a pair");
      count_value();
      made.items.emplace_back(pair->items[0], pair->items[1]);
    }
    return add(std::move(made));
  }
  /// Makes the tensor of _rebuild_tensor_v2(storage, offset, size, stride, requires_grad, hooks[, metadata]);
  /// _rebuild_tensor has the first four. A tensor of complex numbers cannot be a weight.
  PickleValue tensor(const std::vector<PickleRef>& arguments) const {
    if (const auto count = arguments.size(); count != 4 && count != 6 && count != 7)
      fail("a tensor of unknown arguments");
    const auto* storage = pickle_.as<PickleStorage>(arguments[0]);
    const auto* offset = pickle_.as<std::int64_t>(arguments[1]);
    const auto* size = pickle_.as<PickleSequence>(arguments[2]);
    const auto* stride = pickle_.as<PickleSequence>(arguments[3]);
    if (!storage || !offset || *offset < 0 || !is_shape(size) || !is_shape(stride) ||
        size->items.size() != stride->items.size())
      fail("a tensor of unknown arguments");
    if (element_bytes(storage->dtype) == 0) return PickleOther{};
    return PickleTensor{arguments[0], arguments[2], arguments[3], static_cast<std::uint64_t>(*offset)};
  }
  bool is_shape(const PickleSequence* tuple) const {
    if (!tuple || !tuple->is_tuple || tuple->items.size() > max_dimensions) return false;
    for (const auto ref : tuple->items)
      if (const auto* extent = pickle_.as<std::int64_t>(ref); !extent || *extent < 0) return false;
    return true;
  }
  /// Returns the tensor of _rebuild_parameter(tensor, requires_grad, hooks[, state]) and Parameter(tensor,
  /// requires_grad).
  PickleRef parameter(const std::vector<PickleRef>& arguments) const {
    if (arguments.empty() || (!pickle_.as<PickleTensor>(arguments[0]) && !pickle_.as<PickleOther>(arguments[0])))
      fail("a parameter of unknown arguments");
    return arguments[0];
  }
  /// Returns the function's result of _rebuild_from_type_v2(function, type, arguments, attributes).
  PickleRef typed(const std::vector<PickleRef>& arguments) {
    const auto* function = arguments.size() == 4 ? pickle_.as<PickleGlobal>(arguments[0]) : nullptr;
    if (!function || function->what == What::typed) fail("a tensor of unknown arguments");
    return result(arguments[0], arguments[2]);
  }
  /// Ignores attributes, such as the version numbers of a state_dict's modules.
  void build() {
    pop();
    const auto ref = pop();
    stack_.push_back(ref);
    if (!pickle_.as<PickleDict>(ref) && !pickle_.as<PickleOther>(ref)) fail("a change of an object that is not a dict");
  }
  /// Reads ("storage", its class, its key, its device, its elements[, view of another one: None since torch 0.4]).
  PickleStorage storage(PickleRef id) const {
    const auto* tuple = pickle_.as<PickleSequence>(id);
    const auto count = tuple ? tuple->items.size() : 0;
    if (count != 5 && count != 6) fail("a persistent id that is not a storage's");
    const auto* word = pickle_.as<std::string_view>(tuple->items[0]);
    const auto* type = pickle_.as<PickleGlobal>(tuple->items[1]);
    const auto* key = pickle_.as<std::string_view>(tuple->items[2]);
    const auto* elements = pickle_.as<std::int64_t>(tuple->items[4]);
    const bool view = count == 6 && !pickle_.as<PickleNone>(tuple->items[5]);
    if (!word || *word != "storage" || !type || !type->dtype || !key || !elements || *elements < 0 || view)
      fail("a persistent id that is not a storage's");
    return {type->dtype, *key, static_cast<std::uint64_t>(*elements)};
  }

  ByteReader reader_;
  const std::string& path_;
  Pickle pickle_;
  std::vector<PickleRef> stack_;
  std::vector<std::size_t> marks_;  // stack sizes
  std::unordered_map<std::uint32_t, PickleRef> memo_;
  std::size_t pushed_ = 0;
  std::uint64_t began_ = 0;  // position of the current instruction
};

}  // namespace

Pickle parse_pickle(std::span<const std::byte> bytes, const std::string& path) { return Unpickler(bytes, path).run(); }

}  // namespace flowtrain
