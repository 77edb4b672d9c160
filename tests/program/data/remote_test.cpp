// Training from a server that fails: for a while, or until somebody ends the run.

#include <doctest/doctest.h>

#include <atomic>

#include "tests/program/picture_files.h"
#include "tests/support/http_server.h"
#include "tests/support/tar_helper.h"

namespace flowtrain::remote_test {
namespace {

/// A server with one shard of 400 pictures; away from request `from` to request `to`, counted over all.
class ShardServer {
 public:
  explicit ShardServer(int from = 1 << 30, int to = 1 << 30)
      : shard_(make_shard()), server_([this, from, to](const HttpServer::Request& request, int number) {
          const bool away = number >= from && number < to;
          return away ? HttpServer::Reply{.status = 503} : HttpServer::range_of(shard_, request);
        }) {}

  /// What trains on it. Little is read ahead, so that requests are spread over the run.
  Words words() const { return words_for(server_.url("a.tar")); }
  /// The same, by an address with a login and a signature.
  Words secret_words() const {
    auto address = server_.url("a.tar") + "?X-Amz-Signature=s1gnature";
    return words_for(address.insert(address.find("://") + 3, "user:passw0rdX@"));
  }

 private:
  static Words words_for(const std::string& address) {
    Words words;
    for (const std::string& key :
         {std::string("data.dataset=webdataset"), "data.path=" + address, std::string("data.retries=100"),
          std::string("sampler.size=16"), std::string("loader.read_ahead=0"), std::string("loader.prefetch=1"),
          std::string("val.every=0")})
      words.insert(words.end(), {"--set", key});
    return words;
  }

  static std::string make_shard() {
    const auto jpeg = encode_jpeg(noise_picture(48, 48, 3));
    const std::string picture(reinterpret_cast<const char*>(jpeg.data()), jpeg.size());
    TarBytes tar;
    for (int i = 0; i < 400; ++i) {
      const auto name = std::to_string(1000 + i);
      tar.entry(name + ".cls", std::to_string(i % 2)).entry(name + ".jpg", picture);
    }
    return tar.end();
  }

  std::string shard_;
  HttpServer server_;
};

}  // namespace

TEST_CASE("a server that is away for a while changes nothing; retries are counted, and warned of once") {
  const TempRun place(without_shapes());
  const ShardServer steady, shaky(100, 105);
  REQUIRE_EXIT(place.train(with(steady.words(), {"--run-dir", "steady"})), 0);
  CHECK(metrics_of(place.path("steady"), "retries").empty());
  const auto outcome = place.train(with(shaky.words(), {"--run-dir", "shaky"}));
  REQUIRE_EXIT(outcome, 0);
  CHECK(end_of(place.path("shaky")) == end_of(place.path("steady")));
  const auto retries = metrics_of(place.path("shaky"), "retries");
  REQUIRE(retries.size() == 1);
  CHECK(retries[0].at("requests").get<int>() > 0);
  CHECK_SAYS(outcome, "requests to servers that had to be repeated: ");
  const std::string warning = "status 503 (unavailable); the request is repeated";
  const auto first = outcome.err.find(warning);
  REQUIRE_MESSAGE(first != std::string::npos, outcome);
  CHECK(outcome.err.find(warning, first + 1) == std::string::npos);
  CHECK(read_text(place.path("shaky/bad_samples.jsonl")).empty());
}

TEST_CASE("logins, signatures and tokens are in the configurations alone, which only their owner may read") {
  const TempRun place(without_shapes());
  const ShardServer server;
  auto options = place.process_options();
  options.environment = {{"FLOWTRAIN_SERVE_TOKEN", "sekret-token-123"}, {"HF_TOKEN", "another-sekret"}};
  const auto words = with(server.secret_words(), {"--run-dir", "here", "--max-iter", "10", "--set", "run.plugins=[]"});
  const auto outcome = run_program(with({"tiny.toml"}, words), options);
  REQUIRE_EXIT(outcome, 0);
  REQUIRE_EXIT(place.run({"report", "here", "--out", "page.html"}), 0);
  REQUIRE_EXIT(place.run({"here", "--max-iter", "12"}), 0);  // the address is whole
  std::size_t configs = 0;
  const auto holds = [](const std::string& text) {
    for (const char* secret : {"passw0rdX", "s1gnature", "sekret-token-123", "another-sekret"})
      if (text.find(secret) != text.npos) return true;
    return false;
  };
  CHECK_FALSE(holds(outcome.out + outcome.err));
  CHECK_FALSE(holds(read_text(place.path("page.html"))));
  for (auto& file : std::filesystem::recursive_directory_iterator(place.path("here"))) {
    if (!file.is_regular_file() || file.is_symlink()) continue;
    if (file.path().filename() == "config.toml") {
      ++configs;
      CHECK((file.status().permissions() & std::filesystem::perms::mask) ==
            (std::filesystem::perms::owner_read | std::filesystem::perms::owner_write));
    } else {
      CHECK_MESSAGE(!holds(read_text(file.path())), file.path());
    }
  }
  CHECK(configs >= 2);
  CHECK(read_text(place.path("here/report.html")).find("***@127.0.0.1") != std::string::npos);
}

TEST_CASE("a run that waits for its server ends at a signal with a snapshot, and goes on from there") {
  const ShardServer steady;
  for (const int accum : {1, 2}) {
    const TempRun place(without_shapes());
    const Words more{"--set", "snapshot.every=0", "--set", "train.accum=" + std::to_string(accum)};
    REQUIRE_EXIT(place.train(with(with(steady.words(), more), {"--run-dir", "steady"})), 0);
    for (const int signal : {SIGINT, SIGTERM}) {
      const std::string run = "ended-" + std::to_string(signal);
      const ShardServer gone(100);
      Process process(with(with(with({"tiny.toml"}, gone.words()), more), {"--run-dir", run}), place.process_options());
      REQUIRE(process.wait_for_text("the request is repeated"));
      process.send(signal);
      const auto outcome = process.wait();
      REQUIRE_EXIT(outcome, signal == SIGINT ? 130 : 143);
      CHECK(read_text(place.path(run + "/bad_samples.jsonl")).empty());
      const auto snapshots = metrics_of(place.path(run), "snapshot");
      REQUIRE(snapshots.size() == 1);
      const auto last = snapshots[0].at("iter").get<std::uint64_t>();
      CHECK(last > 0);
      CHECK_SAYS(outcome, "interrupted after iteration " + std::to_string(last));
      CHECK(metrics_of(place.path(run), "retries").size() == 1);
      REQUIRE_EXIT(place.train(with(with(steady.words(), more), {"--resume", run, "--accept-changes"})),
                   0);  // another server
      CHECK(end_of(place.path(run)) == end_of(place.path("steady")));
    }
  }
}

TEST_CASE("a pack that waits for its server ends at a signal, and blames no sample") {
  const TempRun place(without_shapes());
  const ShardServer gone(20);
  const Words pack{"pack", "tiny.toml", "--split", "train", "--out", "packed"};
  Process process(with(pack, gone.words()), place.process_options());
  REQUIRE(process.wait_for_text("the request is repeated"));
  process.send(SIGINT);
  const auto outcome = process.wait();
  CHECK_EXIT(outcome, 130);
  CHECK_SAYS(outcome, "interrupted: packed/train was removed");
  CHECK_MESSAGE(outcome.err.find("bad sample") == std::string::npos, outcome);
  CHECK_FALSE(std::filesystem::exists(place.path("packed")));
}

}  // namespace flowtrain::remote_test
