// One connection of a server: requests in, responses out, one after the other.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/file_descriptor.h"
#include "http/channel.h"
#include "http/server.h"
#include "http/server_body.h"
#include "http/server_pacer.h"
#include "http/server_parser.h"
#include "http/server_sender.h"

namespace assay::http {

class ServerLoop;

/// Lives on its loop's thread.
class ServerConnection {
 public:
  ServerConnection(uint64_t id, FileDescriptor socket, ServerLoop& loop);
  ~ServerConnection();

  /// What epoll said of the socket.
  void OnEvents(uint32_t events);
  void OnTimer();
  /// What a response of this connection waited for is there.
  void OnWoken();

  uint64_t id() const { return id_; }
  int socket() const { return channel_->socket(); }
  bool closed() const { return state_ == State::kClosed; }
  /// True when the client has kept us waiting since before `time`.
  bool WaitingSince(double time) const;
  /// It is for the client to go on.
  bool WaitsForClient() const {
    return state_ == State::kGreeting || state_ == State::kHead || state_ == State::kBody ||
           state_ == State::kLingering;
  }
  double active_at() const { return active_at_; }  ///< when something was last received or sent
  /// True when the head of a request began before `time` and has not come to its end.
  bool HeadOpenSince(double time) const { return state_ == State::kHead && !parser_.idle() && head_at_ < time; }
  /// Takes what has come of a large body, if it is too little for the loop to be told of it; false: nothing has.
  bool TakeTrickle();
  void Close();

 private:
  enum class State { kGreeting, kHead, kBody, kDeferred, kDelay, kSending, kStreaming, kStalled, kLingering, kClosed };

  void Receive();
  /// How many bytes; 0: no more now.
  int64_t ReceiveOnce();
  void Greet();
  bool OnReceived(const Channel::Step& step);
  void PaceReading(int64_t bytes);
  void Process(std::string_view bytes);
  size_t ProcessHead(std::string_view bytes);
  size_t ProcessBody(std::string_view bytes);
  void BeginRequest();
  void RefuseRequest(int status, std::string_view message);
  void FinishRequest();
  void BeginResponse(ServerResponse response);
  void WaitForResponse();
  void StartSending();
  void SendFromStream();
  void Send();
  void EndResponse();
  void NextRequest();
  void Linger();
  void DropReceived();
  void UpdateInterest();
  void UpdateLowWater();

  const uint64_t id_;
  std::unique_ptr<Channel> channel_;  ///< null: closed
  ServerLoop& loop_;
  State state_;
  double active_at_;
  double head_at_ = 0;        ///< the first byte of the head that is being read
  double wake_at_ = 0;        ///< of the state: end of a delay, of a pace, of a stall
  double read_again_at_ = 0;  ///< the pace of the receiving side
  bool blocked_ = false;      ///< the socket takes nothing more now
  uint32_t interest_ = 0;
  int low_water_ = 1;   ///< received bytes below which the socket counts as empty
  std::string unread_;  ///< received, but belongs to later requests

  HeadParser parser_;
  BodyReceiver body_;
  std::unique_ptr<Exchange> exchange_;
  bool head_request_ = false;
  bool keep_alive_ = true;

  std::unique_ptr<Pacer> upload_pacer_;
  std::unique_ptr<Pacer> download_pacer_;
  std::optional<ServerResponse> response_;
  ResponseSender sender_;
};

}  // namespace assay::http
