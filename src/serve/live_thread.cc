#include "serve/live_thread.h"

#include <chrono>
#include <exception>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "report/html.h"
#include "serve/live_pieces.h"

namespace assay::serve {
namespace {

using nlohmann::json;

constexpr auto kLivePause = std::chrono::milliseconds(150);
constexpr auto kLivePauseAfterProblem = std::chrono::seconds(1);
/// Explorations give a sign of life every few seconds.
constexpr double kSilentSeconds = 20;
constexpr double kGoneSeconds = 3600;
/// An event must find room in what waits for a browser, beside another one.
constexpr size_t kMostLiveBytes = 100 << 10;

/// What the page shows of an exploration; nothing where it says other things than this version knows.
std::optional<json> PiecesOf(const samplestore::Progress& row, bool silent) {
  const Result<json> state = ParseJson(row.state, row.operation_uid);
  if (!state.ok()) {
    return std::nullopt;
  }
  try {
    report::Markup html;
    WriteExploration(html, *state, silent);
    return std::move(html).Pieces();
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

}  // namespace

std::string LiveView::Take(const std::vector<samplestore::Progress>& rows, double now) {
  json pieces = json::array();
  size_t bytes = 0;
  int64_t count = 0;
  int64_t others = 0;
  std::map<std::string, Heard> heard;
  for (const samplestore::Progress& row : rows) {
    const auto before = heard_.find(row.operation_uid);
    const bool is_new = before == heard_.end() || before->second.version != row.version;
    const Heard last = is_new ? Heard{.version = row.version, .at = now} : before->second;
    heard[row.operation_uid] = last;
    if (now - last.at > kGoneSeconds) {
      continue;
    }
    std::optional<json> shown = PiecesOf(row, now - last.at > kSilentSeconds);
    const size_t size = shown ? DumpJson(*shown).size() : 0;
    if (!shown || bytes + size > kMostLiveBytes) {
      ++others;
      continue;
    }
    bytes += size;
    pieces.insert(pieces.end(), shown->begin(), shown->end());
    ++count;
  }
  heard_ = std::move(heard);
  return DumpJson({{"count", count}, {"others", others}, {"pieces", std::move(pieces)}});
}

LiveThread::LiveThread(StoreOpener open, EventHub& hub)
    : open_(std::move(open)), hub_(hub), run_([this] { Run(); }), ended_(run_.get_future()), thread_(std::ref(run_)) {}

LiveThread::~LiveThread() {
  Stop();
  thread_.join();
}

void LiveThread::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
}

Status LiveThread::Read() {
  if (!store_) {
    ASSAY_ASSIGN_OR_RETURN(store_, open_());
  }
  ASSAY_RETURN_IF_ERROR(store_->CheckSame());
  ASSAY_ASSIGN_OR_RETURN(rows_, store_->ListProgress());
  return Status::Ok();
}

Status LiveThread::Look() {
  try {
    return Read();
  } catch (const std::exception& error) {
    return Status::Internal(error.what());
  }
}

void LiveThread::Run() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    lock.unlock();
    const bool looked = Look().ok();
    if (!looked) {
      store_.reset();
    }
    // Of whom nothing can be read nothing is heard.
    hub_.Tell("live", view_.Take(rows_, MonotonicSeconds()));
    lock.lock();
    wake_.wait_for(lock,
                   looked ? kLivePause : std::chrono::duration_cast<std::chrono::milliseconds>(kLivePauseAfterProblem),
                   [this] { return stop_; });
  }
}

}  // namespace assay::serve
