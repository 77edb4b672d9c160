// Files of weights: pickles that want something executed, and containers that lie.

#include "tests/fuzz/hostile/hostile.h"
#include "tests/support/torch_bytes.h"

namespace flowtrain::hostile {
namespace {

using namespace flowtrain::test;

void add_foreign_names(std::vector<Case>& cases) {
  const std::pair<std::string, std::string> names[] = {{"os", "system"},
                                                       {"posix", "system"},
                                                       {"nt", "system"},
                                                       {"os", "popen"},
                                                       {"os", "execv"},
                                                       {"builtins", "eval"},
                                                       {"builtins", "exec"},
                                                       {"builtins", "open"},
                                                       {"builtins", "getattr"},
                                                       {"builtins", "__import__"},
                                                       {"__builtin__", "eval"},
                                                       {"__builtin__", "apply"},
                                                       {"subprocess", "Popen"},
                                                       {"subprocess", "check_output"},
                                                       {"runpy", "run_path"},
                                                       {"importlib", "import_module"},
                                                       {"pickle", "loads"},
                                                       {"_pickle", "loads"},
                                                       {"webbrowser", "open"},
                                                       {"shutil", "rmtree"},
                                                       {"socket", "create_connection"},
                                                       {"functools", "partial"},
                                                       {"operator", "attrgetter"},
                                                       {"torch", "load"},
                                                       {"torch.hub", "load"},
                                                       {"torch.jit", "load"},
                                                       {"torch.storage", "_load_from_bytes"},
                                                       {"torch._utils", "_rebuild_tensor"},
                                                       {"torch._utils", "os.system"},
                                                       {"collections", "OrderedDict.update"},
                                                       {"__torch__", "Module"},
                                                       {"numpy.core.multiarray", "_reconstruct"}};
  const auto command = py_tuple({py_text("touch " + marker)});
  for (const auto& [module, name] : names) {
    const auto add = [&](const std::string& how, const std::string& file) {
      cases.push_back({"pickle: " + module + "." + name + " " + how, "weights", file});
    };
    add("called", torch_zip(py_whole(py_call(module, name, command))));
    add("called in a dict", torch_zip(py_whole(py_dict({{"a", py_call(module, name, command)}}))));
    add("named by texts", torch_zip("\x80\x04" + py_text(module) + py_text(name) + "\x93" + command + "R."));
    add("in the older format", torch_legacy(py_whole(py_call(module, name, command)), py_whole("]"), ""));
  }
  for (const char instruction : {'i', 'o', 'P', '\x81', '\x82', '\x83', '\x84', '\x92'})
    cases.push_back({"pickle: instruction " + std::to_string(static_cast<unsigned char>(instruction)), "weights",
                     torch_zip(proto + "(" + py_text("os") + py_text("system") + instruction + "os\nsystem\n.")});
}

void add_torch(std::vector<Case>& cases) {
  const std::string floats(24, '\0');
  const auto add = [&](const std::string& what, const std::string& file) {
    cases.push_back({"torch: " + what, "weights", file});
  };
  const auto of_pickle = [&](const std::string& what, const std::string& pickle) {
    add(what, torch_zip(pickle, {{"m/data/0", floats}}));
  };
  const auto of_tensor = [&](const std::string& what, const PyTensor& tensor) {
    of_pickle(what, py_whole(py_dict({{"a", tensor.text()}})));
  };
  constexpr std::int32_t most = 0x7fffffff;
  of_tensor("more elements than bytes", {{most}, {1}, 0, most});
  of_tensor("a window of 2^93", {{most, most, most}, {0, 0, 0}, 0, 6});
  of_tensor("strides of 2^31", {{2, 2}, {most, most}, 0, 6});
  of_tensor("an offset of 2^31", {{1}, {1}, most, 6});
  of_tensor("an unfolded window", {{1 << 20}, {0}, 0, 6});
  of_tensor("65 dimensions", {std::vector<std::int32_t>(65, 1), std::vector<std::int32_t>(65, 1), 0, 6});
  of_tensor("a negative size", {{-1}, {1}, 0, 6});
  of_tensor("a storage that is not there", {{1}, {1}, 0, 6, "../../../etc/passwd"});
  for (const char piece : {'N', '(', ')', ']', '}'})
    of_pickle(std::string("2^20 times ") + piece, py_whole(std::string(1 << 20, piece)));
  of_pickle("10^6 tuples deep", py_whole("N" + std::string(1'000'000, '\x85')));
  of_pickle("10^5 lists deep, and then no dict", py_whole("]" + std::string(100'000, ']') + std::string(100'000, 'a')));
  of_pickle("a text of 4 GiB", proto + "X\xff\xff\xff\xff.");
  of_pickle("bytes of 2^64", proto + "\x8e\xff\xff\xff\xff\xff\xff\xff\xff.");
  std::string itself = "(";
  for (int i = 0; i < 600'000; ++i) itself += "h\x01";
  of_pickle("a list that holds itself 600,000 times", py_whole("]q\x01" + itself + "e"));

  const ZipPart pickle{"m/data.pkl", py_whole(py_dict({{"a", PyTensor{{6}, {1}, 0, 6}.text()}}))},
      data{"m/data/0", floats};
  const auto zip = [&](const std::string& what, auto change) {
    std::vector<ZipPart> parts = {pickle, data};
    change(parts);
    add("zip: " + what, zip_of(parts));
  };
  zip("compressed", [](auto& p) { p[1].method = 8; });
  zip("encrypted", [](auto& p) { p[1].flags = 1; });
  zip("a size of 4 GiB", [](auto& p) { p[1].claimed_bytes = 0xfffffffe; });
  zip("a size in a field that is not there", [](auto& p) { p[1].claimed_bytes = 0xffffffff; });
  zip("an offset beyond", [](auto& p) { p[1].header_shift = 1 << 30; });
  zip("an offset into another", [](auto& p) { p[1].header_shift = -50; });
  zip("another name in place", [](auto& p) { p[1].local_name = "m/data/1"; });
  zip("a name twice", [](auto& p) { p.push_back(p[1]); });
  zip("one over the other", [](auto& p) { p[0].claimed_bytes += 60; });
  for (const char* name : {"../x", "/etc/x", "m/../../x", "m/.."})
    zip(std::string("name ") + name, [&](auto& p) { p.push_back({name, "x"}); });
  zip("two pickles", [](auto& p) { p.push_back({"n/data.pkl", p[0].data}); });
  zip("no pickle", [](auto& p) { p.erase(p.begin()); });
  zip("big-endian", [](auto& p) { p.push_back({"m/byteorder", "big"}); });
  add("zip: no directory", "PK\x03\x04" + std::string(1 << 16, '\0'));
  add("zip: a bomb's name", torch_zip(py_whole("N"), {{"m/data/0", packed(std::string(1 << 20, '\0'), 100, -15), 8}}));
  const auto legacy_keys = py_whole("]" + py_text("0") + "a");
  PyTensor legacy{{6}, {1}, 0, 6};
  legacy.legacy = true;
  const auto legacy_pickle = py_whole(py_dict({{"a", legacy.text()}}));
  add("older: a storage of 2^64", torch_legacy(legacy_pickle, legacy_keys, std::string(8, '\xff')));
  add("older: a storage cut short", torch_legacy(legacy_pickle, legacy_keys, le(std::uint64_t{6}) + "x"));
  add("older: no pickles after its mark", torch_legacy("", "", ""));
}

void add_safetensors(std::vector<Case>& cases) {
  const auto raw = [&](const std::string& what, std::uint64_t length, const std::string& rest) {
    cases.push_back({"safetensors: " + what, "weights", le(length) + rest});
  };
  const auto add = [&](const std::string& what, const std::string& header, std::size_t data_bytes = 8) {
    raw(what, header.size(), header + std::string(data_bytes, '\0'));
  };
  const auto tensor = [](const std::string& name, const std::string& shape, const std::string& offsets) {
    return "\"" + name + R"(":{"dtype":"F32","shape":[)" + shape + R"(],"data_offsets":[)" + offsets + "]}";
  };
  for (const int power : {27, 32, 48, 62, 63}) raw("header of 2^" + std::to_string(power), 1ull << power, "{}");
  raw("header of 2^64 - 1", ~0ull, "{}");
  add("overlap", "{" + tensor("a", "2", "0,8") + "," + tensor("b", "1", "4,8") + "}");
  add("the same bytes twice", "{" + tensor("a", "2", "0,8") + "," + tensor("b", "2", "0,8") + "}");
  add("a gap", "{" + tensor("a", "1", "4,8") + "}");
  add("bytes left over", "{" + tensor("a", "1", "0,4") + "}");
  add("beyond the end", "{" + tensor("a", "4", "0,16") + "}");
  add("backwards", "{" + tensor("a", "2", "8,0") + "}");
  add("a shape that wraps", "{" + tensor("a", "4294967296,4294967296", "0,8") + "}");
  add("a size of 2^64 - 1", "{" + tensor("a", "18446744073709551615", "0,8") + "}");
  add("a size of 2^64", "{" + tensor("a", "18446744073709551616", "0,8") + "}");
  add("a negative size", "{" + tensor("a", "-2", "0,8") + "}");
  add("a fraction", "{" + tensor("a", "2.0", "0,8") + "}");
  add("an offset of 2^63", "{" + tensor("a", "2", "9223372036854775808,9223372036854775816") + "}");
  add("a name twice", "{" + tensor("a", "2", "0,8") + "," + tensor("a", "0", "8,8") + "}");
  add("10^5 deep", std::string(100'000, '[') + std::string(100'000, ']'));
  add("10^5 objects deep", [] {
    std::string text;
    for (int i = 0; i < 100'000; ++i) text += R"({"a":)";
    return text;
  }());
  std::string sizes = "1";
  for (int i = 0; i < 100'000; ++i) sizes += ",1";
  add("10^5 dimensions", "{" + tensor("a", sizes, "0,4") + "}");
  std::string many = "{";
  for (int i = 0; i < 1'000'000; ++i) many += tensor(std::to_string(i), "0", "0,0") + ",";
  many.back() = '}';
  add("10^6 tensors", many, 0);
  add("200,000 tensors", many.substr(0, many.find("\"200000\"") - 1) + "}", 0);
  std::string notes = R"({"__metadata__":{)";
  for (int i = 0; i < 1'000'000; ++i) notes.append("\"").append(std::to_string(i)).append("\":\"\",");
  notes.back() = '}';
  add("10^6 notes", notes + "}", 0);
  add("a name of 8 MB", "{" + tensor(std::string(8'000'000, 'x'), "2", "0,8") + "}");
}

}  // namespace

std::vector<Case> weights() {
  std::vector<Case> cases;
  add_foreign_names(cases);
  add_torch(cases);
  add_safetensors(cases);
  return cases;
}

}  // namespace flowtrain::hostile
