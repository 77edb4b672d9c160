#include "pipeline/snapshot/pickle.h"

#include <bit>
#include <optional>
#include <unordered_map>

#include "pipeline/snapshot/byte_reader.h"
#include "pipeline/snapshot/safetensors.h"
#include "sampling/core/error.h"

namespace flowtrain {
namespace {

// A tensor of a state_dict takes some 26 values; each costs about 40 bytes.
constexpr std::size_t max_values = std::size_t{1} << 19;
constexpr std::size_t max_dimensions = 64;  // torch's own bound
constexpr std::size_t max_name_bytes = 256;
constexpr int newest_protocol = 4;

/// The only names that a pickle may call or refer to.
std::optional<PickleGlobal> known_global(std::string_view module, std::string_view name) {
  using What = PickleGlobal::What;
  if (module == "collections" && name == "OrderedDict") return PickleGlobal{What::ordered_dict, nullptr};
  if (module == "torch._utils" && name == "_rebuild_tensor_v2") return PickleGlobal{What::tensor, nullptr};
  if (module == "torch._utils" && name == "_rebuild_parameter") return PickleGlobal{What::parameter, nullptr};
  static constexpr std::pair<std::string_view, const char*> storages[] = {
      {"DoubleStorage", "F64"}, {"FloatStorage", "F32"}, {"HalfStorage", "F16"},  {"BFloat16Storage", "BF16"},
      {"LongStorage", "I64"},   {"IntStorage", "I32"},   {"ShortStorage", "I16"}, {"CharStorage", "I8"},
      {"ByteStorage", "U8"},    {"BoolStorage", "BOOL"}};
  for (const auto& [storage, dtype] : storages)
    if (module == "torch" && name == storage) return PickleGlobal{What::storage, dtype};
  return {};
}

/// Python's virtual machine for pickles: a stack, marks on it, and a memo of values to come back to.
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

  /// The instructions that are known, with their names in pickletools.py.
  void step(unsigned char instruction) {
    switch (instruction) {
      case 0x80: return check_protocol();   // PROTO
      case 0x95: return reader_.skip(8);    // FRAME: its length, of use for reading ahead only
      case 'N': return push(PickleNone{});  // NONE
      case 0x88: return push(true);         // NEWTRUE
      case 0x89: return push(false);        // NEWFALSE
      case 'J': return push(std::int64_t{reader_.number<std::int32_t>()});    // BININT
      case 'K': return push(std::int64_t{reader_.number<std::uint8_t>()});    // BININT1
      case 'M': return push(std::int64_t{reader_.number<std::uint16_t>()});   // BININT2
      case 0x8a: return push(long_integer());                                 // LONG1
      case 'G': return push(big_endian_double());                             // BINFLOAT
      case 'U':                                                               // SHORT_BINSTRING: a str of Python 2
      case 0x8c: return push(reader_.text(reader_.number<std::uint8_t>()));   // SHORT_BINUNICODE
      case 'T':                                                               // BINSTRING
      case 'X': return push(reader_.text(reader_.number<std::uint32_t>()));   // BINUNICODE
      case 0x8d: return push(reader_.text(reader_.number<std::uint64_t>()));  // BINUNICODE8
      case 'C': return push(PickleBytes{reader_.text(reader_.number<std::uint8_t>())});    // SHORT_BINBYTES
      case 'B': return push(PickleBytes{reader_.text(reader_.number<std::uint32_t>())});   // BINBYTES
      case 0x8e: return push(PickleBytes{reader_.text(reader_.number<std::uint64_t>())});  // BINBYTES8
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
      case 'q': return remember(reader_.number<std::uint8_t>());                           // BINPUT
      case 'r': return remember(reader_.number<std::uint32_t>());                          // LONG_BINPUT
      case 0x94: return remember(static_cast<std::uint32_t>(memo_.size()));                // MEMOIZE
      case 'h': return recall(reader_.number<std::uint8_t>());                             // BINGET
      case 'j': return recall(reader_.number<std::uint32_t>());                            // LONG_BINGET
      case 'c': return push_global();                                                      // GLOBAL
      case 0x93: return push_stack_global();                                               // STACK_GLOBAL
      case 'R': return reduce();                                                           // REDUCE
      case 'b': return build();                                                            // BUILD
      case 'Q': return push(storage(pop()));                                               // BINPERSID
    }
    fail("instruction " + std::to_string(instruction) + ", which torch.save does not write");
  }

  void check_protocol() {
    const auto protocol = reader_.number<std::uint8_t>();
    if (protocol < 2 || protocol > newest_protocol)
      fail("protocol " + std::to_string(protocol) + ", expected 2 to 4", "save it with torch.save's own protocol");
  }

  // --- The stack ---

  void push_ref(PickleRef ref) {
    count_value();
    stack_.push_back(ref);
  }
  void push(PickleValue value) {
    pickle_.values.push_back(std::move(value));
    push_ref(static_cast<PickleRef>(pickle_.values.size() - 1));
  }
  void set_mark() {
    count_value();
    marks_.push_back(stack_.size());
  }
  void count_value() {
    if (++pushed_ > max_values) fail("more than 2^19 values");
  }
  /// Values below the last mark belong to what is being built there.
  PickleRef pop() {
    if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) fail("it takes a value where there is none");
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
    if (marks_.empty()) fail("it goes back to a mark where there is none");
    const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<PickleRef> items(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    marks_.pop_back();
    return items;
  }
  /// The value on top, which stays there, as a T.
  template <class T>
  T& top_as(const char* expected) {
    const auto ref = pop();
    stack_.push_back(ref);
    auto* value = std::get_if<T>(&pickle_.values[ref]);
    if (!value) fail(std::string("a change of something that is no ") + expected);
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

  std::int64_t long_integer() {
    const auto size_bytes = reader_.number<std::uint8_t>();
    if (size_bytes > sizeof(std::int64_t)) fail("an integer of more than 64 bits");
    const auto bytes = reader_.take(size_bytes);
    const bool negative = size_bytes > 0 && std::to_integer<unsigned>(bytes.back()) >= 0x80;
    std::uint64_t value = negative ? ~std::uint64_t{0} : 0;
    for (std::size_t i = size_bytes; i > 0; --i) value = value << 8 | std::to_integer<std::uint64_t>(bytes[i - 1]);
    return static_cast<std::int64_t>(value);
  }
  double big_endian_double() { return std::bit_cast<double>(__builtin_bswap64(reader_.number<std::uint64_t>())); }
  void append(const std::vector<PickleRef>& items) {
    auto& list = top_as<PickleSequence>("list");
    if (list.is_tuple) fail("a change of a tuple");
    list.items.insert(list.items.end(), items.begin(), items.end());
  }
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
    if (!name || !module) fail("a name that is no text");
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

  void reduce() {
    const auto arguments = pop();
    const auto* callable = pickle_.as<PickleGlobal>(pop());
    const auto* tuple = pickle_.as<PickleSequence>(arguments);
    if (!callable || !tuple || !tuple->is_tuple) fail("a call of something that cannot be called");
    switch (callable->what) {
      case PickleGlobal::What::ordered_dict: return push(ordered_dict(tuple->items));
      case PickleGlobal::What::tensor: return push(tensor(tuple->items));
      case PickleGlobal::What::parameter: return push_ref(parameter(tuple->items));
      case PickleGlobal::What::storage: fail("a call of a storage's class");
    }
  }
  /// OrderedDict() or, as Python 2 wrote it, OrderedDict([[key, value], …]).
  PickleDict ordered_dict(const std::vector<PickleRef>& arguments) const {
    PickleDict dict;
    if (arguments.empty()) return dict;
    const auto* pairs = pickle_.as<PickleSequence>(arguments[0]);
    if (arguments.size() != 1 || !pairs) fail("an OrderedDict of unknown arguments");
    for (const auto ref : pairs->items) {
      const auto* pair = pickle_.as<PickleSequence>(ref);
      if (!pair || pair->items.size() != 2) fail("an OrderedDict of something that is no pair");
      dict.items.emplace_back(pair->items[0], pair->items[1]);
    }
    return dict;
  }
  /// _rebuild_tensor_v2(storage, offset, size, stride, requires_grad, hooks[, metadata])
  PickleTensor tensor(const std::vector<PickleRef>& arguments) const {
    if (arguments.size() != 6 && arguments.size() != 7) fail("a tensor of unknown arguments");
    const auto* offset = pickle_.as<std::int64_t>(arguments[1]);
    const auto* size = pickle_.as<PickleSequence>(arguments[2]);
    const auto* stride = pickle_.as<PickleSequence>(arguments[3]);
    if (!pickle_.as<PickleStorage>(arguments[0]) || !offset || *offset < 0 || !is_shape(size) || !is_shape(stride) ||
        size->items.size() != stride->items.size())
      fail("a tensor of unknown arguments");
    return {arguments[0], arguments[2], arguments[3], static_cast<std::uint64_t>(*offset)};
  }
  bool is_shape(const PickleSequence* tuple) const {
    if (!tuple || !tuple->is_tuple || tuple->items.size() > max_dimensions) return false;
    for (const auto ref : tuple->items)
      if (const auto* extent = pickle_.as<std::int64_t>(ref); !extent || *extent < 0) return false;
    return true;
  }
  /// _rebuild_parameter(tensor, requires_grad, hooks): the tensor itself.
  PickleRef parameter(const std::vector<PickleRef>& arguments) const {
    if (arguments.size() != 3 || !pickle_.as<PickleTensor>(arguments[0])) fail("a parameter of unknown arguments");
    return arguments[0];
  }
  /// The attributes of an OrderedDict: a state_dict has its modules' version numbers there. Not needed.
  void build() {
    pop();
    top_as<PickleDict>("dict");
  }
  /// ("storage", its class, its key, its device, its elements[, view of another one: None since torch 0.4])
  PickleStorage storage(PickleRef id) const {
    const auto* tuple = pickle_.as<PickleSequence>(id);
    const auto count = tuple ? tuple->items.size() : 0;
    if (count != 5 && count != 6) fail("a persistent id that is no storage's");
    const auto* word = pickle_.as<std::string_view>(tuple->items[0]);
    const auto* type = pickle_.as<PickleGlobal>(tuple->items[1]);
    const auto* key = pickle_.as<std::string_view>(tuple->items[2]);
    const auto* elements = pickle_.as<std::int64_t>(tuple->items[4]);
    const bool view = count == 6 && !pickle_.as<PickleNone>(tuple->items[5]);
    if (!word || *word != "storage" || !type || !type->dtype || !key || !elements || *elements < 0 || view)
      fail("a persistent id that is no storage's");
    return {type->dtype, *key, static_cast<std::uint64_t>(*elements)};
  }

  ByteReader reader_;
  const std::string& path_;
  Pickle pickle_;
  std::vector<PickleRef> stack_;
  std::vector<std::size_t> marks_;  // sizes of the stack
  std::unordered_map<std::uint32_t, PickleRef> memo_;
  std::size_t pushed_ = 0;
  std::uint64_t began_ = 0;  // where the current instruction is
};

}  // namespace

Pickle parse_pickle(std::span<const std::byte> bytes, const std::string& path) { return Unpickler(bytes, path).run(); }

}  // namespace flowtrain
