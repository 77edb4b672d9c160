// Weights to start from that lie on a server.

#include <doctest/doctest.h>

#include <atomic>
#include <cstdio>

#include "tests/support/http_server.h"
#include "tests/support/temp_run.h"
#include "tests/support/torch_bytes.h"

namespace flowtrain::pretrained_test {
namespace {

// As coreutils have it.
std::string sha256_of(const std::filesystem::path& path) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(("sha256sum '" + path.string() + "'").c_str(), "r"),
                                                   ::pclose);
  char text[65] = {};
  REQUIRE(std::fread(text, 1, 64, pipe.get()) == 64);
  return text;
}

}  // namespace

TEST_CASE("weights from an address are fetched once, checked and kept") {
  const TempRun place;
  REQUIRE_EXIT(place.train({"--run-dir", "source", "--max-iter", "20"}), 0);
  const auto weights = place.path("source/snapshots/latest/model.safetensors");
  const std::string bytes = read_text(weights), sum = sha256_of(weights);
  std::atomic<int> requests{0};
  const HttpServer server([&](const HttpServer::Request& request, int) {
    ++requests;
    return request.target.find("gone") == std::string::npos ? HttpServer::range_of(bytes, request)
                                                            : HttpServer::Reply{.status = 404};
  });
  ProcessOptions around = place.process_options();
  around.environment.push_back({"XDG_CACHE_HOME", place.path("cache").string()});
  const auto train = [&](const std::string& pretrain, const std::string& sha256, Words more) {
    const Words words{"tiny.toml", "--max-iter",          "20", "--set", "net.pretrain=" + pretrain,
                      "--set",     "net.sha256=" + sha256};
    return run_program(with(words, more), around);
  };

  REQUIRE_EXIT(train(weights.string(), sum, {"--run-dir", "local"}), 0);
  const auto first = train(server.url("a.safetensors"), sum, {"--run-dir", "first"});
  REQUIRE_EXIT(first, 0);
  CHECK_SAYS(first, "weights from " + server.url("a.safetensors") + ": ");
  CHECK(end_of(place.path("first")) == end_of(place.path("local")));
  const auto kept = place.path("cache/flowtrain/weights/" + sum);
  CHECK(read_text(kept) == bytes);

  const int before = requests;
  std::string capitals = sum;
  for (char& letter : capitals) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  REQUIRE_EXIT(train(server.url("a.safetensors"), capitals, {"--run-dir", "second"}), 0);
  CHECK(requests == before);
  CHECK(end_of(place.path("second")) == end_of(place.path("local")));

  // What is damaged in the cache is fetched anew.
  std::filesystem::resize_file(kept, bytes.size() / 2);
  REQUIRE_EXIT(train(server.url("a.safetensors"), sum, {"--run-dir", "third"}), 0);
  CHECK(requests > before);
  CHECK(read_text(kept) == bytes);

  const auto refused = [&](const std::string& pretrain, const std::string& sha256, int code,
                           const std::string& reason) {
    const auto outcome = train(pretrain, sha256, {"--run-dir", "refused"});
    CHECK_EXIT(outcome, code);
    CHECK_SAYS(outcome, reason);
    CHECK_FALSE(std::filesystem::exists(place.path("refused")));
  };
  const std::string other(64, 'a');
  refused(server.url("a.safetensors"), "", 2, "an address needs net.sha256");
  refused(server.url("a.safetensors"), "abc", 2, "net.sha256: expected 64 hexadecimal digits");
  refused(server.url("a.safetensors"), other, 3, "is not the file that net.sha256 says: its SHA-256 is " + sum);
  refused(weights.string(), other, 2, "is not the file that net.sha256 says");
  refused(server.url("gone"), other, 3, "404");
  refused(place.path("none").string(), "", 2, "no such file");
  CHECK_FALSE(std::filesystem::exists(place.path("cache/flowtrain/weights/" + other)));
}

TEST_CASE("ranks wait for weights that take longer than a collective may" * doctest::test_suite("nightly")) {
  const TempRun place;
  REQUIRE_EXIT(place.train({"--run-dir", "source", "--max-iter", "20"}), 0);
  const auto weights = place.path("source/snapshots/latest/model.safetensors");
  const std::string bytes = read_text(weights);
  const HttpServer server([&](const HttpServer::Request& request, int number) {
    auto reply = HttpServer::range_of(bytes, request);
    if (number == 0) reply.before = [] { std::this_thread::sleep_for(std::chrono::seconds(25)); };
    return reply;
  });
  ProcessOptions around = place.process_options();
  around.environment.push_back({"XDG_CACHE_HOME", place.path("cache").string()});
  const Words two{"tiny.toml", "--run-dir", "two", "--distributed", "--world-size", "2", "--max-iter", "20"};
  const Words slow{"--set", "net.pretrain=" + server.url("a"),
                   "--set", "net.sha256=" + sha256_of(weights),
                   "--set", "dist.timeout=40"};
  REQUIRE_EXIT(run_program(with(two, slow), around), 0);
}

TEST_CASE("tensors are left out and renamed on the way, and the lists of what does not fit are told") {
  const TempRun place;
  REQUIRE_EXIT(place.train({"--run-dir", "source", "--max-iter", "20"}), 0);
  const std::string weights = "source/snapshots/latest/model.safetensors";
  const auto initialized = [&](const std::string& run, const Words& more) {
    return place.train(with({"--run-dir", run, "--initialize", "--set", "net.pretrain=" + weights}, more));
  };
  const auto differing = [&](const std::string& run) {
    return place.run({"snapshot", "diff", "source/snapshots/iter-00000020", run + "/snapshots/iter-00000000"}).out;
  };
  const auto has = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };

  const auto all = initialized("all", {});
  REQUIRE_EXIT(all, 0);
  CHECK_SAYS(all, "weights from " + weights + ": 4 of 4 tensors");
  for (auto text : {"missing: ", "unexpected: "}) CHECK_FALSE(has(all.err, text));
  CHECK_FALSE(has(differing("all"), "model: "));

  const auto dropped = initialized("dropped", {"--set", "net.pretrain_drop=[\"^layers\\\\.1\\\\.\"]"});
  REQUIRE_EXIT(dropped, 0);
  CHECK_SAYS(dropped, ": 2 of 4 tensors");
  CHECK_SAYS(dropped, weights + ": missing: layers.1.weight, layers.1.bias\n");
  CHECK_FALSE(has(differing("dropped"), "model: layers.0"));
  CHECK(has(differing("dropped"), "model: layers.1.weight"));

  const auto renamed = initialized("renamed", {"--set", "net.pretrain_rename=[\"layers\\\\.1\\\\. -> head.\"]"});
  REQUIRE_EXIT(renamed, 0);
  CHECK_SAYS(renamed, weights + ": missing: layers.1.weight, layers.1.bias; unexpected: head.weight, head.bias\n");
  const auto strict = initialized(
      "refused", {"--set", "net.pretrain_rename=[\"layers\\\\.1\\\\. -> head.\"]", "--set", "net.strict=true"});
  CHECK_EXIT(strict, 2);
  CHECK_SAYS(strict, "net.pretrain: " + weights +
                         " does not fit the net: missing: layers.1.weight, layers.1.bias; "
                         "unexpected: head.weight, head.bias");

  // There and back again.
  const auto back =
      initialized("back", {"--set", "net.pretrain_rename=[\"layers\\\\.1\\\\. -> head.\", \"^head -> layers.1\"]"});
  REQUIRE_EXIT(back, 0);
  CHECK_SAYS(back, ": 4 of 4 tensors");
  CHECK_FALSE(has(differing("back"), "model: "));

  const auto misshapen = initialized("other", {"--set", "net.hidden=[16]"});
  CHECK_EXIT(misshapen, 0);
  CHECK_SAYS(misshapen, weights +
                            ": of another shape or type: layers.0.weight: F32 (32, 768) in the file, F32 (16, 768) "
                            "wanted, layers.0.bias: ");
}

TEST_CASE("weights with several dicts are taken by the net's names, and a prefix of names is a line to copy") {
  const TempRun place;
  const auto pickle_of = [](const std::string& prefix, const std::string& key) {
    const test::PyTensor bias{.shape = {32}, .strides = {1}, .elements = 32, .key = key};
    return test::py_dict({{prefix + "layers.0.bias", bias.text()}});
  };
  const auto write = [&](const char* name, const std::string& value) {
    const std::string storage(32 * sizeof(float), '\0');
    place.folder().write(name, test::torch_zip(test::py_whole(value), {{"m/data/0", storage}, {"m/data/1", storage}}));
  };
  const auto start = [&](const std::string& run, const Words& more) {
    return place.train(with({"--run-dir", run, "--initialize"}, more));
  };
  const test::PyTensor number{.shape = {}, .strides = {}, .elements = 32};
  write("usual.pth", test::py_dict({{"best_acc1", number.text()}, {"state_dict", pickle_of("_orig_mod.", "0")}}));
  const auto usual = start("usual", {"--set", "net.pretrain=usual.pth"});
  REQUIRE_EXIT(usual, 0);
  CHECK_SAYS(usual, "weights from usual.pth, under 'state_dict': 1 of 4 tensors");

  write("two.pth", test::py_dict({{"model", pickle_of("", "0")}, {"model_ema", pickle_of("", "1")}}));
  const auto two = start("two", {"--set", "net.pretrain=two.pth"});
  CHECK_EXIT(two, 4);
  CHECK_SAYS(two, "net.pretrain: two.pth: several dicts of tensors fit equally well: 'model', 'model_ema'");
  CHECK_SAYS(two, "net.pretrain_key = \"model_ema\"");
  const auto chosen = start("chosen", {"--set", "net.pretrain=two.pth", "--set", "net.pretrain_key=model_ema"});
  REQUIRE_EXIT(chosen, 0);
  CHECK_SAYS(chosen, "weights from two.pth, under 'model_ema': 1 of 4 tensors");

  write("prefix.pth", pickle_of("model.", "0"));
  const auto prefixed = start("prefixed", {"--set", "net.pretrain=prefix.pth"});
  CHECK_EXIT(prefixed, 2);
  CHECK_SAYS(prefixed, R"(with net.pretrain_rename = ['^model\. -> '] the names of 1 tensors fit)");
  const Words renamed{"--set", "net.pretrain=prefix.pth", "--set", R"(net.pretrain_rename=['^model\. -> '])"};
  REQUIRE_EXIT(start("renamed", renamed), 0);
  write("bare.pth", test::py_dict({{"0.bias", test::PyTensor{.shape = {32}, .strides = {1}, .elements = 32}.text()}}));
  const auto bare = start("bare", {"--set", "net.pretrain=bare.pth"});
  CHECK_EXIT(bare, 2);
  CHECK_SAYS(bare, "with net.pretrain_rename = ['^ -> layers.'] the names of 1 tensors fit");
  REQUIRE_EXIT(start("added", {"--set", "net.pretrain=bare.pth", "--set", "net.pretrain_rename=['^ -> layers.']"}), 0);
}

}  // namespace flowtrain::pretrained_test
