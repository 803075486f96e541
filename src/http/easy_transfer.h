// One reusable libcurl easy handle and the transfer it is busy with.
#pragma once

#include <curl/curl.h>

#include <memory>
#include <string>
#include <string_view>

#include "http/answer.h"
#include "http/direct_sender.h"
#include "http/engine.h"

namespace assay::http {

/// Belongs to the I/O thread. Options that never change are set once; an transfer sets only its own.
class EasyTransfer {
 public:
  explicit EasyTransfer(Shared& shared);
  ~EasyTransfer();
  EasyTransfer(const EasyTransfer&) = delete;
  EasyTransfer& operator=(const EasyTransfer&) = delete;

  void Begin(Job job);
  /// What became of the transfer, from libcurl's verdict. The handle must be out of the multi handle.
  Outcome Finish(CURLcode code);
  /// Likewise, for an transfer that was given up.
  Outcome FinishCancelled();
  Client::Callback TakeCallback() { return std::move(callback_); }

  /// Lets a transfer that waited for bandwidth go on.
  void Resume();
  /// Since when it has waited for bandwidth, on MonotonicSeconds(); 0: it does not.
  double paused_since() const { return paused_since_; }

  /// The socket that libcurl waits for; CURL_SOCKET_BAD: none.
  void set_socket(curl_socket_t socket) { direct_.SetSocket(socket); }

  CURL* handle() const { return handle_; }
  TransferId id() const { return id_; }

 private:
  static size_t OnHeader(char* data, size_t size, size_t count, void* self);
  static size_t OnBody(char* data, size_t size, size_t count, void* self);
  static size_t OnRead(char* data, size_t size, size_t count, void* self);
  static int OnSeek(void* self, curl_off_t offset, int origin);

  void SetFixedOptions();
  void SetMethod(int64_t body_bytes);
  void SetHeaders();
  void AddHeader(std::string_view line);
  bool TakeHeaderLine(std::string_view line);
  bool MustPause();
  Outcome Measure();

  const ClientOptions& options_;
  TokenBucket& bucket_;
  CURL* handle_;
  char error_text_[CURL_ERROR_SIZE] = {};

  TransferId id_ = 0;
  Transfer transfer_;
  Client::Callback callback_;
  std::unique_ptr<SpanSource> spans_;
  BodySource* source_ = nullptr;
  DirectSender direct_;
  curl_slist* header_list_ = nullptr;
  Answer answer_;
  double paused_since_ = 0;
};

/// What libcurl's verdict means. `connected`: the connection stood; `text`: libcurl's own words.
TransportError ClassifyCurlError(CURLcode code, bool connected, std::string_view text);

}  // namespace assay::http
