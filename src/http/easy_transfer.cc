#include "http/easy_transfer.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/text.h"
#include "http/proxy.h"

namespace assay::http {
namespace {

// Chunks of this size are received, copied and checksummed within the caches. Each handle has buffers of its own, so
// the smaller those for sending, the more of all of them stay there: 64 KiB moved twice as much a CPU second over 32
// connections as 512 KiB.
constexpr long kReceiveBufferBytes = 256 << 10;
constexpr long kSendBufferBytes = 64 << 10;
constexpr size_t kCappedTurnBytes = 32 << 10;

long Milliseconds(double seconds) {
  return seconds <= 0 ? 0 : std::max(1L, static_cast<long>(seconds * 1000));
}

std::span<const std::byte> AsBytes(const char* data, size_t size) {
  return {reinterpret_cast<const std::byte*>(data), size};
}

}  // namespace

EasyTransfer::EasyTransfer(Shared& shared)
    : options_(shared.options),
      bucket_(shared.bucket),
      handle_(curl_easy_init()),
      direct_(MayBeProxied(options_, "http")),
      answer_(shared) {
  SetFixedOptions();
}

EasyTransfer::~EasyTransfer() {
  curl_easy_cleanup(handle_);
  curl_slist_free_all(header_list_);
}

void EasyTransfer::SetFixedOptions() {
  const auto set = [this](CURLoption option, auto value) { curl_easy_setopt(handle_, option, value); };
  set(CURLOPT_PRIVATE, static_cast<void*>(this));
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(CURLOPT_PATH_AS_IS, 1L);
  set(CURLOPT_TCP_NODELAY, 1L);
  set(CURLOPT_TCP_KEEPALIVE, 1L);
  set(CURLOPT_BUFFERSIZE, kReceiveBufferBytes);
  set(CURLOPT_UPLOAD_BUFFERSIZE, kSendBufferBytes);
  set(CURLOPT_ERRORBUFFER, error_text_);
  set(CURLOPT_USERAGENT, options_.user_agent.c_str());
  set(CURLOPT_CONNECTTIMEOUT_MS, Milliseconds(options_.connect_timeout_seconds));
  if (options_.stall_timeout_seconds > 0) {
    set(CURLOPT_LOW_SPEED_LIMIT, 1L);
    set(CURLOPT_LOW_SPEED_TIME, std::max(1L, static_cast<long>(options_.stall_timeout_seconds)));
  }
  set(CURLOPT_SSL_VERIFYPEER, options_.verify_tls ? 1L : 0L);
  set(CURLOPT_SSL_VERIFYHOST, options_.verify_tls ? 2L : 0L);
  if (!options_.ca_file.empty()) {
    set(CURLOPT_CAINFO, options_.ca_file.c_str());
  }
  if (!options_.use_proxy) {
    set(CURLOPT_PROXY, "");
  } else if (!options_.proxy.empty()) {
    set(CURLOPT_PROXY, options_.proxy.c_str());
  }
  set(CURLOPT_HEADERFUNCTION, &EasyTransfer::OnHeader);
  set(CURLOPT_HEADERDATA, static_cast<void*>(this));
  set(CURLOPT_WRITEFUNCTION, &EasyTransfer::OnBody);
  set(CURLOPT_WRITEDATA, static_cast<void*>(this));
  set(CURLOPT_READFUNCTION, &EasyTransfer::OnRead);
  set(CURLOPT_READDATA, static_cast<void*>(this));
  set(CURLOPT_SEEKFUNCTION, &EasyTransfer::OnSeek);
  set(CURLOPT_SEEKDATA, static_cast<void*>(this));
}

void EasyTransfer::Begin(Job job) {
  id_ = job.id;
  transfer_ = std::move(job.transfer);
  callback_ = std::move(job.callback);
  answer_.Begin(transfer_.sink);
  paused_since_ = 0;
  error_text_[0] = '\0';
  direct_.Begin(transfer_.request.url);
  source_ = transfer_.source;
  if (source_ == nullptr && !transfer_.request.body.empty()) {
    spans_ = std::make_unique<SpanSource>(std::move(transfer_.request.body));
    source_ = spans_.get();
  }
  curl_easy_setopt(handle_, CURLOPT_URL, transfer_.request.url.c_str());
  SetMethod(source_ == nullptr ? 0 : source_->bytes());
  SetHeaders();
  const double timeout = transfer_.total_timeout_seconds;
  curl_easy_setopt(handle_, CURLOPT_TIMEOUT_MS, Milliseconds(timeout > 0 ? timeout : options_.total_timeout_seconds));
}

void EasyTransfer::SetMethod(int64_t body_bytes) {
  const std::string& method = transfer_.request.method;
  const bool has_body = body_bytes > 0 || method == "PUT" || method == "POST";
  // HTTPGET first: it takes back what an earlier transfer said about bodies.
  curl_easy_setopt(handle_, CURLOPT_HTTPGET, 1L);
  if (method == "HEAD") {
    curl_easy_setopt(handle_, CURLOPT_NOBODY, 1L);
  } else if (has_body) {
    curl_easy_setopt(handle_, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(handle_, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(body_bytes));
  }
  const bool implied = method == "HEAD" || method == (has_body ? "PUT" : "GET");
  curl_easy_setopt(handle_, CURLOPT_CUSTOMREQUEST, implied ? nullptr : method.c_str());
}

void EasyTransfer::AddHeader(std::string_view line) {
  header_list_ = curl_slist_append(header_list_, std::string(line).c_str());
}

void EasyTransfer::SetHeaders() {
  curl_slist_free_all(header_list_);
  header_list_ = nullptr;
  AddHeader("Accept:");
  AddHeader("Expect:");
  std::string line;
  for (const Header& header : transfer_.request.headers.all()) {
    line = header.name;
    line += header.value.empty() ? ";" : ": ";
    line += header.value;
    AddHeader(line);
  }
  curl_easy_setopt(handle_, CURLOPT_HTTPHEADER, header_list_);
}

size_t EasyTransfer::OnHeader(char* data, size_t size, size_t count, void* self) {
  return static_cast<EasyTransfer*>(self)->TakeHeaderLine({data, size * count}) ? size * count : CURL_WRITEFUNC_ERROR;
}

bool EasyTransfer::TakeHeaderLine(std::string_view line) {
  if (!answer_.CountHeader(line.size(), MonotonicSeconds())) {
    return false;
  }
  line = Trim(line);
  if (line.starts_with("HTTP/")) {
    int status = 0;
    const std::string_view code = Trim(line.substr(std::min(line.find(' '), line.size())));
    std::from_chars(code.data(), code.data() + code.size(), status);
    answer_.BeginHead(status);
    return true;
  }
  const size_t colon = line.find(':');
  if (colon != std::string_view::npos) {
    answer_.AddHeader(line.substr(0, colon), Trim(line.substr(colon + 1)));
  }
  return true;
}

bool EasyTransfer::MustPause() {
  if (bucket_.unlimited()) {
    return false;
  }
  const double now = MonotonicSeconds();
  paused_since_ = bucket_.WaitSeconds(now) > 0 ? now : 0;
  return paused_since_ > 0;
}

size_t EasyTransfer::OnBody(char* data, size_t size, size_t count, void* self) {
  auto* transfer = static_cast<EasyTransfer*>(self);
  const size_t bytes = size * count;
  if (transfer->MustPause()) {
    return CURL_WRITEFUNC_PAUSE;
  }
  transfer->bucket_.Take(static_cast<int64_t>(bytes));
  return transfer->answer_.TakeBody(AsBytes(data, bytes), MonotonicSeconds()) ? bytes : CURL_WRITEFUNC_ERROR;
}

size_t EasyTransfer::OnRead(char* data, size_t size, size_t count, void* self) {
  auto* transfer = static_cast<EasyTransfer*>(self);
  if (transfer->source_ == nullptr) {
    return 0;
  }
  if (transfer->MustPause()) {
    return CURL_READFUNC_PAUSE;
  }
  // Under a cap all transfers take turns, so turns are small.
  const size_t room =
      transfer->bucket_.unlimited()
          ? transfer->direct_.SendBefore(transfer->handle_, *transfer->source_, size * count, kSendBufferBytes)
          : std::min(size * count, kCappedTurnBytes);
  const size_t bytes = transfer->source_->Read({reinterpret_cast<std::byte*>(data), room});
  if (bytes == BodySource::kRefused) {
    return CURL_READFUNC_ABORT;
  }
  transfer->bucket_.Take(static_cast<int64_t>(bytes));
  return bytes;
}

int EasyTransfer::OnSeek(void* self, curl_off_t offset, int origin) {
  auto* transfer = static_cast<EasyTransfer*>(self);
  if (offset != 0 || origin != SEEK_SET || transfer->source_ == nullptr) {
    return CURL_SEEKFUNC_CANTSEEK;
  }
  transfer->source_->Rewind();
  transfer->direct_.Rewind();
  return CURL_SEEKFUNC_OK;
}

void EasyTransfer::Resume() {
  paused_since_ = 0;
  curl_easy_pause(handle_, CURLPAUSE_CONT);
}

Outcome EasyTransfer::Measure() {
  Outcome outcome;
  curl_off_t first_byte_us = 0;
  curl_off_t total_us = 0;
  long connects = 0;
  curl_easy_getinfo(handle_, CURLINFO_STARTTRANSFER_TIME_T, &first_byte_us);
  curl_easy_getinfo(handle_, CURLINFO_TOTAL_TIME_T, &total_us);
  curl_easy_getinfo(handle_, CURLINFO_NUM_CONNECTS, &connects);
  Response& response = answer_.response();
  response.first_byte_seconds = static_cast<double>(first_byte_us) * 1e-6;
  response.total_seconds = static_cast<double>(total_us) * 1e-6;
  response.new_connection = connects > 0;
  outcome.response = std::move(response);
  return outcome;
}

Outcome EasyTransfer::Finish(CURLcode code) {
  if (answer_.read_enough()) {
    code = CURLE_OK;  // the connection is gone, the answer is there
  }
  if (code == CURLE_OK) {
    answer_.End();
  }
  // With TLS a connection stands once both have greeted.
  const bool tls = transfer_.request.url.starts_with("https:");
  curl_off_t connected_us = 0;
  curl_easy_getinfo(handle_, tls ? CURLINFO_APPCONNECT_TIME_T : CURLINFO_CONNECT_TIME_T, &connected_us);
  Outcome outcome = Measure();
  outcome.error = ClassifyCurlError(code, connected_us > 0, error_text_);
  if (answer_.Conclude(outcome)) {
    // It says why itself.
  } else if (outcome.error == TransportError::kProxy) {
    // libcurl's words hold the whole address, with the password that may be in it.
    outcome.detail = "its address has a scheme or a form that is not known";
  } else if (code != CURLE_OK) {
    outcome.detail = error_text_[0] != '\0' ? error_text_ : curl_easy_strerror(code);
  }
  transfer_ = {};
  spans_.reset();
  return outcome;
}

Outcome EasyTransfer::FinishCancelled() {
  Outcome outcome = CancelledOutcome();
  outcome.response = Measure().response;
  transfer_ = {};
  spans_.reset();
  return outcome;
}

}  // namespace assay::http
