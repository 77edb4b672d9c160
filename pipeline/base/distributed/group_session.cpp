#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include <cstdlib>
#include <fstream>
#include <thread>

#include "pipeline/base/distributed/gpu_backend.h"
#include "pipeline/base/distributed/heartbeat.h"
#include "pipeline/base/distributed/rendezvous.h"
#include "pipeline/base/distributed/store.h"
#include "pipeline/base/launch/url.h"
#include "pipeline/base/telemetry/guard.h"
#include "sampling/core/settings.h"
#include "sampling/core/text.h"
#include "stages/torch/parallel/torch_group.h"

namespace flowtrain {

namespace {

// Connections are made on first use: all at once would be as many as there are pairs of ranks.
constexpr bool lazily = true;

// Returns Gloo's interface: the one that the user names as for PyTorch, or the one that leads to the other ranks.
std::shared_ptr<gloo::transport::Device> gloo_device(const RankInfo& place) {
  using c10d::ProcessGroupGloo;
  if (const char* interface = std::getenv("GLOO_SOCKET_IFNAME"))
    return ProcessGroupGloo::createDeviceForInterface(interface, lazily);
  if (place.local_world == place.world) return ProcessGroupGloo::createDeviceForHostname("127.0.0.1", lazily);
  const MeetingPoint point = parse_dist_url(place.url);
  return point.file.empty() ? ProcessGroupGloo::createDeviceForHostname(address_towards(point.host, point.port), lazily)
                            : ProcessGroupGloo::createDefaultDevice(lazily);
}

}  // namespace

struct GroupSession::Impl {
  Impl(const RankInfo& joined, const Settings& dist, const std::string& computes_on)
      : place(joined),
        device(computes_on),
        backend(choose_backend(dist, device)),
        timeouts(dist),
        of_all_starts(open_store(place, serves_store(place), timeouts.timeout)),
        store(of_start(of_all_starts, place.restart)),
        heart(place, of_start(open_store(place, false, timeouts.timeout), place.restart), timeouts, record),
        group(join()) {}

  std::unique_ptr<TorchGroup> join() {
    try {
      const MakeGlooOptions options = [at = place, limit = timeouts.limit] {
        auto made = c10d::ProcessGroupGloo::Options::create(limit);
        made->devices.push_back(gloo_device(at));
        return made;
      };
      auto processes = make_gloo_group(store, place.rank, place.world, options);
      if (device != "cpu")
        add_gpu_backend(*processes, store, processes->getBackend(c10::DeviceType::CPU), backend, device,
                        timeouts.limit);
      return std::make_unique<TorchGroup>(std::move(processes), record, options);
    } catch (const UserError&) {
      throw;
    } catch (const std::exception& error) {
      throw UserError(
          ExitCode::distributed,
          concat("rank ", place.rank, " of ", place.world, " did not find the other ranks: ", first_line(error.what())),
          "start all of them within dist.timeout");
    }
  }

  // A rank that lost the others waits for a report, and then compares their beats itself: rank 0 first, since all at
  // once would ask the store as often as there are pairs of ranks.
  std::string who_failed() {
    const auto until = std::chrono::steady_clock::now() + timeouts.patience +
                       (place.rank == 0 ? Timeouts::Span(0) : 3 * timeouts.beat);
    do {
      if (auto known = reported_failure(*store); !known.empty()) return known;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    } while (std::chrono::steady_clock::now() < until);
    const auto before = beats();
    std::this_thread::sleep_for(2 * timeouts.beat);
    if (const auto found = find_culprits(before, beats()); !found.empty()) report_failure(*store, found);
    return reported_failure(*store);
  }

  std::vector<Beat> beats() {
    std::vector<Beat> all;
    all.reserve(static_cast<std::size_t>(place.world));
    for (int rank = 0; rank < place.world; ++rank) all.push_back(beat_of(*store, rank));
    return all;
  }

  // Returns the ranks whose heartbeat has stopped; if all beat, the ranks behind the rest.
  std::string find_culprits(const std::vector<Beat>& before, const std::vector<Beat>& now) const {
    std::vector<std::string> silent, late;
    std::uint64_t most = 0;
    for (auto& beat : now) most = std::max(most, beat.at.entered);
    for (int rank = 0; rank < place.world; ++rank) {
      const auto at = static_cast<std::size_t>(rank);
      if (rank != place.rank && now[at].count == before[at].count && now[at].count != last_beat)
        silent.push_back(describe_silence(rank, now[at]));
      else if (now[at].at.entered < most)
        late.push_back(rank_and_host(rank, now[at]) + " is alive, but the other ranks had to wait for it" +
                       last_seen(now[at]));
    }
    return flowtrain::join(silent.empty() ? late : silent, "; ");
  }

  RankInfo place;
  std::string device, backend;
  Timeouts timeouts;
  std::shared_ptr<CollectiveLog> record = std::make_shared<CollectiveLog>();
  StorePtr of_all_starts, store;
  Heartbeat heart;
  std::unique_ptr<TorchGroup> group;
};

GroupSession::GroupSession(const RankInfo& place, const Settings& dist, const std::string& device)
    : impl_(std::make_unique<Impl>(place, dist, device)) {
  // NCCL's watchdog sees a connection break before the heartbeat misses the other rank.
  give_losses_time(impl_->timeouts.patience + impl_->timeouts.grace);
}

GroupSession::~GroupSession() {
  if (has_failed_) {
    static_cast<void>(impl_.release());  // LibTorch's threads may wait for ever; the process ends anyway
    return;
  }
  const RankInfo place = impl_->place;
  const Timeouts timeouts = impl_->timeouts;
  const StorePtr store = impl_->store;
  try {
    impl_->group->processes()->shutdown();  // ends NCCL's threads
    impl_->group.reset();
    impl_.reset();
    store->add(ranks_left, 1);
    if (serves_store(place)) wait_for_count(*store, ranks_left, place.world, timeouts.patience);
  } catch (const std::exception&) {
    // The rank that serves the store has ended.
  }
}

Group& GroupSession::group() { return *impl_->group; }

std::string GroupSession::explain(const std::string& message, std::string& hint, bool lost, int code) {
  has_failed_ = true;
  Impl& impl = *impl_;
  const std::string own = impl.place.world > 1 ? concat("rank ", impl.place.rank, ": ", message) : message;
  impl.heart.expect_end(own, code);
  std::string text = own;
  try {
    if (!lost) report_failure(*impl.store, own, hint);
    const std::string first = lost ? impl.who_failed() : reported_failure(*impl.store);
    if (!impl.heart.shows(*impl.store))
      text.clear();
    else if (!first.empty())
      text = first, hint = reported_hint(*impl.store);
    impl.store->add(ranks_left, 1);
    if (serves_store(impl.place)) wait_for_count(*impl.store, ranks_left, impl.place.world - 1, impl.timeouts.patience);
  } catch (const std::exception&) {
    text = own + " (and the store where ranks meet is gone)";
  }
  impl.heart.shown();
  return text;
}

void GroupSession::remember_run(const SharedRun& run) { set_shared_run(*impl_->of_all_starts, run); }
SharedRun GroupSession::remembered_run() { return shared_run(*impl_->of_all_starts); }

void GroupSession::write_collective_log(const std::filesystem::path& folder) const {
  std::ofstream(folder / concat("collectives-rank", impl_->place.rank, ".jsonl")) << impl_->record->to_jsonl();
}

}  // namespace flowtrain
