// For tests of dialects: requests without a network.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "http/server.h"
#include "objectserver/context.h"
#include "objectserver/front.h"
#include "objectserver/oci/preauthenticated.h"
#include "objectserver/s3/dialect.h"
#include "objectserver/tokens.h"

namespace assay::objectserver::testing {

struct Reply {
  int status = 0;
  http::Headers headers;
  std::string body;

  std::string Header(std::string_view name) const { return std::string(headers.Find(name).value_or("")); }
  /// The text of the first element of that name.
  std::string Xml(std::string_view element) const {
    const std::string open = '<' + std::string(element) + '>';
    const size_t begin = body.find(open);
    const size_t end = body.find("</" + std::string(element) + '>');
    return begin == std::string::npos ? "" : body.substr(begin + open.size(), end - begin - open.size());
  }
};

/// Answers a request as a connection would ask it, the body in as many pieces as the server takes.
inline http::ServerResponse Answer(Front& front, http::RequestHead head, std::string_view body) {
  const std::unique_ptr<http::Exchange> exchange = front.Open(std::move(head));
  while (!body.empty() && exchange->wants_body()) {
    const std::span<std::byte> memory = exchange->BodyMemory(body.size());
    if (memory.empty()) {
      break;
    }
    const size_t count = std::min(memory.size(), body.size());
    std::memcpy(memory.data(), body.data(), count);
    exchange->BodyReceived(count);
    body.remove_prefix(count);
  }
  return exchange->Finish({});
}

/// A store and its dialects, without sockets.
class Harness {
 public:
  explicit Harness(ServeOptions options = {}) : options_(std::move(options)) {
    store_ = Store::Open(options_.root).value();
    store_->CreateBucket("test", options_.region);
    if (!options_.credentials_file.empty()) {
      credentials_ = Credentials::ReadFile(options_.credentials_file).value();
    }
    tokens_ = std::make_unique<Tokens>(credentials_);
    context_ = {&options_, &credentials_, store_.get(), tokens_.get(), &preauthenticated_, nullptr};
    front_ = std::make_unique<Front>(context_);
    dialect_ = s3::NewS3Dialect(context_);
  }

  Reply Send(std::string method, std::string target, std::string_view body = {},
             const std::vector<http::Header>& headers = {}) {
    http::RequestHead head;
    head.method = std::move(method);
    head.target = std::move(target);
    head.headers.Add("Host", "127.0.0.1:9000");
    head.content_length = static_cast<int64_t>(body.size());
    for (const http::Header& header : headers) {
      head.headers.Set(header.name, header.value);
    }
    return ReplyOf(Answer(*front_, std::move(head), body));
  }

  Store& store() { return *store_; }
  /// S3.
  Dialect& dialect() { return *dialect_; }

 private:
  static Reply ReplyOf(const http::ServerResponse& response) {
    Reply reply{response.status, response.headers, {}};
    for (const http::BodyPiece& piece : response.body) {
      std::string text(static_cast<size_t>(piece.size()), '\0');
      if (piece.file) {
        text.resize(static_cast<size_t>(
            std::max<ssize_t>(0, ::pread(piece.file->get(), text.data(), text.size(), piece.offset))));
      } else {
        std::memcpy(text.data(), piece.bytes.data(), text.size());
      }
      reply.body += text;
    }
    return reply;
  }

  ServeOptions options_;
  Credentials credentials_ = Credentials::Anonymous();
  std::unique_ptr<Store> store_;
  std::unique_ptr<Tokens> tokens_;
  oci::PreauthenticatedRequests preauthenticated_;
  Context context_;
  std::unique_ptr<Front> front_;
  std::unique_ptr<Dialect> dialect_;
};

}  // namespace assay::objectserver::testing
