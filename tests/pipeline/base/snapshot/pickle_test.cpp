#include "pipeline/base/snapshot/pickle.h"

#include <doctest/doctest.h>

#include "sampling/core/error.h"
#include "tests/support/snapshot_fixture.h"
#include "tests/support/torch_bytes.h"

namespace flowtrain::pickle_test {

using namespace flowtrain::test;

namespace {

Pickle parse(const std::string& pickle) { return parse_pickle(bytes_of(pickle), "f.pth"); }
std::string refusal(const std::string& pickle) {
  return message_of([&] { parse(pickle); });
}

template <class T>
T root(const std::string& pickle) {
  const auto parsed = parse(pickle);
  REQUIRE(parsed.as<T>(parsed.root));
  return *parsed.as<T>(parsed.root);
}

}  // namespace

TEST_CASE("pickle: plain values") {
  CHECK(root<bool>(py_whole("\x88")));
  CHECK_FALSE(root<bool>(py_whole("\x89")));
  root<PickleNone>(py_whole("N"));
  CHECK(root<std::int64_t>(py_whole("K\xff")) == 255);
  CHECK(root<std::int64_t>(py_whole("M\xff\xff")) == 65535);
  CHECK(root<std::int64_t>(py_whole(py_int(-2))) == -2);
  CHECK(root<std::int64_t>(py_whole(std::string("\x8a\x00", 2))) == 0);
  CHECK(root<std::int64_t>(py_whole("\x8a\x01\xff")) == -1);
  CHECK(root<std::int64_t>(py_whole(std::string("\x8a\x05\x00\x00\x00\x00\x01", 7))) == std::int64_t{1} << 32);
  CHECK(root<double>(py_whole(std::string("G\x3f\xf8\0\0\0\0\0\0", 9))) == 1.5);
  const std::string text = py_whole("X" + le(std::uint32_t{2}) + "ab");  // views need it to stay
  CHECK(root<std::string_view>(text) == "ab");
  CHECK(root<std::string_view>("\x80\x04\x95" + le(std::uint64_t{5}) +
                               "\x8c\x02"
                               "ab\x94.") == "ab");
  CHECK(root<PickleBytes>(py_whole("C\x01z")).bytes == "z");
}

TEST_CASE("pickle: what follows the end belongs to someone else") {
  CHECK(parse(py_whole("N") + "more").size_bytes == 4);
}

TEST_CASE("pickle: containers, the memo and one value in two places") {
  const auto parsed =
      parse(py_whole("]q\x01(K\x01K\x02"
                     "e"
                     "h\x01\x86"));
  const auto* pair = parsed.as<PickleSequence>(parsed.root);
  REQUIRE(pair);
  CHECK(pair->is_tuple);
  CHECK(pair->items[0] == pair->items[1]);
  CHECK(parsed.as<PickleSequence>(pair->items[0])->items.size() == 2);
  CHECK(root<PickleDict>(py_whole("}" + py_text("a") + "Ns(" + py_text("b") + "NK\x01Nu")).items.size() == 3);
  const auto circle =
      parse(py_whole("]q\x01h\x01"
                     "a"));  // a list that holds itself
  CHECK(circle.as<PickleSequence>(circle.root)->items[0] == circle.root);
}

TEST_CASE("pickle: an OrderedDict as Python 2 and 3 write it, with attributes") {
  CHECK(root<PickleDict>(py_whole(py_dict({{"a", "N"}}) + py_dict({{"_metadata", "N"}}) + "b")).items.size() == 1);
  // OrderedDict([["a", True]])
  const auto pair = "](" + py_text("a") +
                    "\x88"
                    "e";
  CHECK(root<PickleDict>(py_whole(py_call("collections", "OrderedDict", "]" + pair + "a\x85"))).items.size() == 1);
}

TEST_CASE("pickle: a tensor, and a parameter that is one") {
  const PyTensor tensor{{2, 3}, {3, 1}, 1, 7};
  const auto bytes =
      py_whole(py_call("torch._utils", "_rebuild_parameter", py_tuple({tensor.text(), "\x88", ordered_dict})));
  const auto parsed = parse(bytes);  // texts are views into them
  const auto* got = parsed.as<PickleTensor>(parsed.root);
  REQUIRE(got);
  CHECK(got->offset == 1);
  const auto* storage = parsed.as<PickleStorage>(got->storage);
  REQUIRE(storage);
  CHECK(storage->elements == 7);
  CHECK(storage->key == "0");
  CHECK(std::string(storage->dtype) == "F32");
}

TEST_CASE("pickle: values of all types that torch.load takes without trust may stand beside tensors") {
  const auto other = [](const std::string& value) { root<PickleOther>(py_whole(value)); };
  other(py_call("torch", "Size", py_tuple({py_ints({1, 2})})));
  other(py_call("torch", "device", py_tuple({py_text("cuda"), py_int(0)})));
  other(py_call("__builtin__", "set",
                py_tuple({"](K\x01K\x02"
                          "e"})));
  other(py_call("__builtin__", "bytearray", py_tuple({py_text("x"), py_text("latin-1")})));
  other(py_call("builtins", "complex", py_tuple({std::string("G\x3f\xf8\0\0\0\0\0\0", 9), "K\x01"})));
  other(py_call("_codecs", "encode", py_tuple({py_text("x"), py_text("latin1")})));
  other(py_call("datetime", "datetime", py_tuple({"C\x01z"})));
  other(py_call("torch._utils", "_rebuild_sparse_tensor", ")"));
  other(py_call("torch.serialization", "_get_layout", py_tuple({py_text("torch.strided")})));
  other(py_global("torch", "Tensor") + ")\x81" + py_tuple({"N", "N"}) + "b");
  other(py_global("argparse", "Namespace") + ")\x81}" + py_text("lr") + "K\x01sb");
  other(py_call("pathlib", "PosixPath", py_tuple({py_text("runs"), py_text("1")})));
  // A number of NumPy: its dtype is made by a call and gets a state.
  other(py_call("numpy._core.multiarray", "scalar",
                py_tuple({py_call("numpy", "dtype", py_tuple({py_text("f8"), "\x89", "\x88"})) + py_ints({3, -1}) + "b",
                          py_call("_codecs", "encode", py_tuple({py_text("01234567"), py_text("latin1")}))})));
  other(std::string("\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\x00", 11));  // a seed of 64 bits without a sign
  other("\x8f(K\x01K\x02\x90");
  other("(K\x01\x91");
  other(PyTensor{.shape = {1}, .strides = {1}, .elements = 1, .storage = "ComplexFloatStorage"}.text());
  CHECK(root<PickleBytes>("\x80\x05\x96" + le(std::uint64_t{1}) + "z.").bytes == "z");
  for (const char* dtype : {"float32", "bfloat16", "int64", "uint16", "bool", "float8_e4m3fn", "complex64", "quint4x2",
                            "per_tensor_affine", "FloatTensor", "half"})
    root<PickleGlobal>(py_whole(py_global("torch", dtype)));
  root<PickleGlobal>(py_whole(py_global("torch.cuda", "FloatTensor")));
  CHECK(root<PickleDict>(py_whole(py_call("collections", "Counter", py_tuple({"}" + py_text("a") + "K\x02s"}))))
            .items.size() == 1);
  CHECK(root<PickleDict>(py_whole(py_call("collections", "defaultdict", py_tuple({py_global("__builtin__", "list")})) +
                                  py_text("a") + "]s"))
            .items.size() == 1);
}

TEST_CASE("pickle: all functions that make plain tensors are known") {
  const PyTensor tensor{{2, 3}, {3, 1}, 1, 7};
  const auto is_tensor = [](const std::string& value) { CHECK(root<PickleTensor>(py_whole(value)).offset == 1); };
  is_tensor(
      py_call("torch._utils", "_rebuild_parameter_with_state", py_tuple({tensor.text(), "\x88", ordered_dict, "}"})));
  is_tensor(py_global("torch.nn.parameter", "Parameter") + py_tuple({tensor.text(), "\x88"}) + "\x81");
  const auto storage =
      py_tuple({py_text("storage"), py_global("torch", "FloatStorage"), py_text("0"), py_text("cpu"), py_int(7)}) + "Q";
  const std::vector<std::string> four = {storage, py_int(1), py_ints({2, 3}), py_ints({3, 1})};
  is_tensor(py_call("torch._utils", "_rebuild_tensor", py_tuple(four)));
  is_tensor(py_call(
      "torch._tensor", "_rebuild_from_type_v2",
      py_tuple({py_global("torch._utils", "_rebuild_tensor"), py_global("torch", "Tensor"), py_tuple(four), "}"})));
  CHECK(contains(
      refusal(py_whole(py_call("torch._tensor", "_rebuild_from_type_v2",
                               py_tuple({py_global("torch._tensor", "_rebuild_from_type_v2"), "N", ")", "N"})))),
      "a tensor of unknown arguments"));
}

TEST_CASE("pickle: every foreign name is refused by its name, wherever it stands") {
  for (const auto& [module, name] :
       std::vector<std::pair<std::string, std::string>>{{"os", "system"},
                                                        {"posix", "system"},
                                                        {"builtins", "eval"},
                                                        {"builtins", "exec"},
                                                        {"__builtin__", "eval"},
                                                        {"builtins", "getattr"},
                                                        {"subprocess", "Popen"},
                                                        {"torch", "load"},
                                                        {"torch", "int_repr"},
                                                        {"torch", "Storage"},
                                                        {"torch.nn.modules.linear", "Linear"},
                                                        {"torch._utils", "_rebuild"},
                                                        {"torch.storage", "_load_from_bytes"},
                                                        {"collections", "OrderedDict "},
                                                        {"collections", "deque"},
                                                        {"collections.OrderedDict", ""},
                                                        {"argparse", "ArgumentParser"},
                                                        {"pathlib", "os.system"},
                                                        {"numpy", "load"},
                                                        {"numpy.core.multiarray", "fromfile"},
                                                        {"datetime", "sys"},
                                                        {"_codecs", "lookup"},
                                                        {"builtins", "__import__"},
                                                        {"", "OrderedDict"},
                                                        {"runpy", "run_path"},
                                                        {"torch.jit", "load"},
                                                        {"torch.FloatStorage", "load"},
                                                        {"torch", "FloatStorage.load"}}) {
    const auto whole = "'" + module + "." + name + "'";
    CHECK(contains(refusal(py_whole(py_global(module, name))), "f.pth: at byte 2 of the pickle: it names " + whole));
    CHECK(contains(refusal(py_whole(py_call(module, name, py_tuple({py_text("id")})))), whole));
    CHECK(contains(refusal("\x80\x04" + py_text(module) + py_text(name) + "\x93."), whole));
  }
}

TEST_CASE("pickle: calls of anything but the known names are refused") {
  CHECK(contains(refusal(py_whole(py_text("x") + ")R")), "a call of something that cannot be called"));
  CHECK(contains(refusal(py_whole(py_call("collections", "OrderedDict", "]"))), "cannot be called"));
  CHECK(contains(refusal(py_whole(py_call("torch", "FloatStorage", ")"))), "a call of a storage's class"));
  CHECK(contains(refusal(py_whole(py_call("collections", "OrderedDict", py_tuple({"K\x01"})))), "OrderedDict"));
  CHECK(contains(refusal(py_whole(py_call("torch._utils", "_rebuild_tensor_v2", ")"))), "a tensor of unknown"));
  CHECK(contains(refusal(py_whole(py_call("torch._utils", "_rebuild_parameter", ")"))), "a parameter of unknown"));
  CHECK(contains(refusal(py_whole(py_text("x") + "}b")), "a change of an object that is not a dict"));
}

TEST_CASE("pickle: instructions that torch.save does not write are refused by number") {
  // NEWOBJ_EX, INST, OBJ, PERSID, EXT1, POP, DUP, INT, NEXT_BUFFER, nothing at all
  for (const int each : {0x92, int{'i'}, int{'o'}, int{'P'}, 0x82, int{'0'}, int{'2'}, int{'I'}, 0x97, 0})
    CHECK(contains(refusal(proto + std::string{'N', static_cast<char>(each), '.'}),
                   "instruction " + std::to_string(each) + ", which torch.save does not write"));
  CHECK(contains(refusal("\x80\x06N."), "protocol 6"));
  CHECK(contains(refusal(std::string("\x80\x00N.", 4)), "protocol 0"));
}

TEST_CASE("pickle: tensors of wrong arguments are refused") {
  const auto wrong = [](auto change) {
    PyTensor tensor{{2, 3}, {3, 1}, 0, 6};
    change(tensor);
    return refusal(py_whole(tensor.text()));
  };
  CHECK(contains(wrong([](auto& t) { t.offset = -1; }), "a tensor of unknown arguments"));
  CHECK(contains(wrong([](auto& t) { t.shape = {-2, 3}; }), "a tensor of unknown arguments"));
  CHECK(contains(wrong([](auto& t) { t.strides = {3, -1}; }), "a tensor of unknown arguments"));
  CHECK(contains(wrong([](auto& t) { t.strides = {1}; }), "a tensor of unknown arguments"));
  CHECK(contains(wrong([](auto& t) { t.shape = t.strides = std::vector<std::int32_t>(65, 1); }), "unknown arguments"));
  CHECK(contains(wrong([](auto& t) { t.elements = -1; }), "is not a storage's"));
  CHECK(contains(wrong([](auto& t) { t.storage = "QUInt4x2Storage"; }), "'torch.QUInt4x2Storage'"));
  CHECK(contains(refusal(py_whole(py_text("x") + "Q")), "is not a storage's"));
}

TEST_CASE("pickle: damage is named, and neither depth nor size is followed") {
  CHECK(contains(refusal(""), "cut short"));
  CHECK(contains(refusal(proto), "cut short"));
  CHECK(contains(refusal(py_whole("")), "it needs a value, but there is none"));
  CHECK(contains(refusal(py_whole("t")), "it goes back to a mark, but there is none"));
  CHECK(contains(refusal(py_whole("N(\x85")), "it needs a value, but there is none"));
  CHECK(contains(refusal(py_whole("h\x07")), "memo 7, which was never written"));
  CHECK(contains(refusal(py_whole("}(Nu")), "a key without a value"));
  CHECK(contains(refusal(py_whole(")Na")), "a change of a tuple"));
  CHECK(contains(refusal(py_whole("X\xff\xff\xff\xff")), "cut short"));
  CHECK(contains(refusal(py_whole("\x8d\xff\xff\xff\xff\xff\xff\xff\xff")), "cut short"));
  CHECK(contains(refusal(py_whole("\x8a\x09"
                                  "123456")),
                 "cut short"));
  CHECK(contains(refusal(proto + "c" + std::string(1000, 'x') + "\n"), "more than 256 bytes"));
  CHECK(contains(refusal(py_whole(std::string(1 << 20, 'N'))), "more than 2^19 values"));
  CHECK(contains(refusal(py_whole(std::string(1 << 20, '('))), "more than 2^19 values"));
  CHECK(contains(refusal(py_whole("N" + std::string(1 << 20, '\x85'))), "more than 2^19 values"));
  root<PickleSequence>(py_whole("N" + std::string(100'000, '\x85')));  // 100,000 tuples deep
}

TEST_CASE("pickle: every prefix of a right one is refused, and no byte of it can be changed into a crash") {
  const auto pickle = py_whole(py_dict({{"a", PyTensor{{2, 3}, {3, 1}, 1, 7}.text()}, {"b", "N"}}));
  for (std::size_t i = 0; i < pickle.size(); ++i) refusal(pickle.substr(0, i));
  for (std::size_t i = 0; i < pickle.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      auto changed = pickle;
      changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
      try {
        parse(changed);
      } catch (const UserError&) {
      }
    }
}

}  // namespace flowtrain::pickle_test
