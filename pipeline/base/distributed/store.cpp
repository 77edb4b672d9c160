#include "pipeline/base/distributed/store.h"

#include <c10/util/Logging.h>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <cstdlib>
#include <sstream>
#include <thread>

#include "pipeline/base/launch/url.h"
#include "sampling/core/error.h"
#include "sampling/core/text.h"
#include "stages/system/file_limit.h"

namespace flowtrain {

namespace {

std::vector<std::uint8_t> bytes(const std::string& text) { return {text.begin(), text.end()}; }
std::string text_of(const std::vector<std::uint8_t>& value) { return {value.begin(), value.end()}; }

// c10d warns, with stacks, of every connection that ends; our own messages cover the relevant ones.
void silence_c10d() {
  if (std::getenv("TORCH_CPP_LOG_LEVEL") == nullptr) ::setenv("TORCH_CPP_LOG_LEVEL", "ERROR", 0);
  c10::initLogging();
}

const std::string run_folder_key = "flowtrain/run_folder";

std::string key_of(int rank) { return "beat/" + std::to_string(rank); }

constexpr char before_hint = '\x1f';  // ASCII's unit separator, which no message holds

std::string stored_failure(c10d::Store& store) { return store.check({"failure"}) ? text_of(store.get("failure")) : ""; }

}  // namespace

StorePtr open_tcp_store(const std::string& host, int port, bool serves, Timeouts::Span timeout) {
  silence_c10d();
  raise_file_limit();  // the server of the store has a connection to each rank
  c10d::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(port);
  options.isServer = serves;
  options.waitWorkers = false;
  options.timeout = timeout;
  try {
    return c10::make_intrusive<c10d::TCPStore>(host, options);
  } catch (const std::exception& error) {
    throw UserError(ExitCode::distributed, tcp_url(host, port) + ": " + first_line(error.what()),
                    serves ? "name another port: --dist-url" : "is rank 0 running at this address?");
  }
}

bool serves_store(const RankInfo& place) {
  return place.rank == 0 && !place.store_is_there && parse_dist_url(place.url).file.empty();
}

StorePtr open_store(const RankInfo& place, bool serves, Timeouts::Span timeout) {
  const MeetingPoint point = parse_dist_url(place.url);
  if (!point.file.empty()) return c10::make_intrusive<c10d::FileStore>(point.file, place.world);
  return open_tcp_store(point.host, point.port, serves, timeout);
}

StorePtr of_start(const StorePtr& store, int restart) {
  return c10::make_intrusive<c10d::PrefixStore>("flowtrain/" + std::to_string(restart), store);
}

SharedRun shared_run(c10d::Store& store) {
  if (!store.check({run_folder_key})) return {};
  const std::string text = text_of(store.get(run_folder_key));
  const auto split = text.find('\n');
  return {text.substr(split + 1), text.substr(0, split)};
}

void set_shared_run(c10d::Store& store, const SharedRun& run) {
  store.set(run_folder_key, bytes(concat(run.identity, "\n", run.folder.string())));
}

void set_beat(c10d::Store& store, int rank, const Beat& beat) {
  std::ostringstream text;
  text << beat.count << ' ' << beat.at.entered << ' ' << beat.host << ' ' << beat.at.text << '\n' << beat.at.what;
  store.set(key_of(rank), bytes(text.str()));
}

Beat beat_of(c10d::Store& store, int rank) {
  Beat beat;
  if (!store.check({key_of(rank)})) return beat;
  std::istringstream text(text_of(store.get(key_of(rank))));
  text >> beat.count >> beat.at.entered >> beat.host;
  text.get();
  std::getline(text, beat.at.text);
  std::getline(text, beat.at.what);
  return beat;
}

std::string rank_and_host(int rank, const Beat& beat) {
  return concat("rank ", rank, beat.host.empty() ? "" : " on ", beat.host);
}

std::string last_seen(const Beat& beat) { return beat.at.text.empty() ? "" : ", last seen at " + beat.at.text; }

std::string describe_silence(int rank, const Beat& beat) {
  return rank_and_host(rank, beat) + " does not answer any more" + last_seen(beat);
}

std::string describe_divergence(int own_rank, const CollectiveLog& own, int rank, const Beat& beat) {
  const auto what = own.what(beat.at.entered);
  if (!what || *what == beat.at.what) return {};
  return concat("ranks ", own_rank, " and ", rank, " are in different collectives: collective ", beat.at.entered,
                " is ", *what, " in rank ", own_rank, ", and ", beat.at.what, " in rank ", rank, " (", beat.at.text,
                "). Their data, programs or flags differ, or this is a bug in flowtrain: please report it");
}

void report_failure(c10d::Store& store, const std::string& what, const std::string& hint) {
  store.compareSet("failure", bytes(""), bytes(what + before_hint + hint));
}

std::string reported_failure(c10d::Store& store) {
  const std::string stored = stored_failure(store);
  return stored.substr(0, stored.find(before_hint));
}

std::string reported_hint(c10d::Store& store) {
  const std::string stored = stored_failure(store);
  const auto at = stored.find(before_hint);
  return at == std::string::npos ? "" : stored.substr(at + 1);
}

bool is_first_to_show(c10d::Store& store, bool own_launcher, int node) {
  return store.add("shown/" + std::to_string(own_launcher ? node : 0), 1) == 1;
}

void wait_for_count(c10d::Store& store, const std::string& what, int many, Timeouts::Span patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  while (store.add(what, 0) < many && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

}  // namespace flowtrain
