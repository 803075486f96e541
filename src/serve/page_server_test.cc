#include "serve/page_server.h"

#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/file_descriptor.h"
#include "base/files.h"
#include "http/client.h"
#include "report/testing/synthetic.h"
#include "samplestore/sample_store.h"
#include "samplestore/sql/sql_store.h"
#include "samplestore/sqlite/connection.h"

namespace assay::serve {
namespace {

using nlohmann::json;
using report::testing::DemoSpace;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

FileDescriptor ConnectTo(int port) {
  FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  return socket;
}

class PageServerTest : public ::testing::Test {
 protected:
  PageServerTest() : path_(folder_.path() + "/runs.db") {
    auto store = samplestore::OpenStore(path_);
    EXPECT_TRUE((*store)->AppendNew(DemoSpace()).ok());
  }
  void SetUp() override {
    auto server = PageServer::Start({.store_url = path_});
    ASSERT_TRUE(server.ok()) << server.status().message();
    server_ = *std::move(server);
    Open();
  }
  void Open() {
    const http::Response start = Get(server_->StartLink());
    ASSERT_EQ(start.status, 303);
    cookie_ = start.headers.Find("Set-Cookie").value();
    cookie_.resize(cookie_.find(';'));
    key_ = start.headers.Find("Location").value();
    key_ = key_.substr(key_.find("?key="));
  }
  http::Response Get(const std::string& url, const std::string& method = "GET") {
    http::Request request{.method = method, .url = url.starts_with("/") ? server_->url() + url + key_ : url};
    if (!cookie_.empty()) {
      request.headers.Add("Cookie", cookie_);
    }
    Result<http::Response> response = client_.Fetch(std::move(request));
    EXPECT_TRUE(response.ok()) << response.status().message();
    return response.ok() ? *std::move(response) : http::Response();
  }
  /// A request whose answer nobody waits for.
  FileDescriptor Ask(const std::string& path) const {
    FileDescriptor connection = ConnectTo(Port());
    const std::string head = "GET " + path + key_ + " HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(Port()) +
                             "\r\nCookie: " + cookie_ + "\r\n\r\n";
    EXPECT_EQ(::send(connection.get(), head.data(), head.size(), MSG_NOSIGNAL), std::ssize(head));
    return connection;
  }
  /// Until `text` was said.
  static void Hear(const FileDescriptor& connection, std::string_view text) {
    constexpr timeval kLongestWait = {.tv_sec = 300, .tv_usec = 0};
    ::setsockopt(connection.get(), SOL_SOCKET, SO_RCVTIMEO, &kLongestWait, sizeof(kLongestWait));
    std::string heard;
    while (heard.find(text) == std::string::npos) {
      char byte = 0;
      ASSERT_EQ(::recv(connection.get(), &byte, 1, 0), 1) << "in place of " << text << " only " << heard;
      heard += byte;
    }
  }
  int Port() const { return std::stoi(server_->url().substr(server_->url().rfind(':') + 1)); }
  Status StartStatus(PageServerOptions options) {
    options.store_url = path_;
    return PageServer::Start(std::move(options)).status();
  }

  TemporaryDirectory folder_ = TemporaryDirectory::Create("serve").value();
  const std::string path_;
  std::unique_ptr<PageServer> server_;
  std::string cookie_;
  std::string key_;
  http::Client client_;
};

TEST_F(PageServerTest, ServesThePageAndWhatItIsMadeOf) {
  const http::Response page = Get("/");
  EXPECT_EQ(page.status, 200);
  EXPECT_THAT(page.body, HasSubstr("data-api=\"/api/v1/\""));
  const http::Response script = Get("/assets/report.js");
  EXPECT_GT(script.body.size(), 100'000);
  http::Request again{.url = server_->url() + "/assets/report.js"};
  again.headers.Add("Cookie", cookie_);
  again.headers.Add("If-None-Match", script.headers.Find("ETag").value());
  EXPECT_EQ(client_.Fetch(std::move(again))->status, 304);
  EXPECT_THAT(Get("/assets/report.css").headers.Find("Content-Type").value(), StartsWith("text/css"));
  EXPECT_EQ(Get("/", "HEAD").status, 200);
}

TEST_F(PageServerTest, EveryAnswerIsStrict) {
  const std::string subject = DemoSpace()[0].experiment;
  for (const std::string& path :
       {std::string("/"), std::string("/nowhere"), std::string("/api/v1/subjects"),
        "/api/v1/subjects/" + subject + "/model", std::string("/api/v1/runs/none"), std::string("/assets/report.js")}) {
    const http::Response response = Get(path);
    const std::string policy(response.headers.Find("Content-Security-Policy").value_or(""));
    EXPECT_THAT(policy, StartsWith("default-src 'none'; script-src 'self'; style-src 'self'")) << path;
    EXPECT_THAT(policy, HasSubstr("require-trusted-types-for 'script'")) << path;
    EXPECT_THAT(policy, Not(HasSubstr("unsafe"))) << path;
    EXPECT_EQ(response.headers.Find("X-Content-Type-Options"), "nosniff") << path;
    EXPECT_FALSE(response.headers.Has("Access-Control-Allow-Origin")) << path;
  }
}

TEST_F(PageServerTest, NamesInTheAddressAreDecoded) {
  samplestore::Measurement run = DemoSpace().front();
  run.uid = "a b/\xC3\xB6%";
  auto store = samplestore::OpenStore(path_);
  ASSERT_TRUE((*store)->AppendNew({{run}}).ok());
  EXPECT_EQ(json::parse(Get("/api/v1/runs/" + http::PercentEncode(run.uid)).body).at("uid"), run.uid);
  EXPECT_EQ(Get("/api/v1/runs/a%2").status, 404);
}

TEST_F(PageServerTest, AnswersWhatThePageAsksFor) {
  const json subjects = json::parse(Get("/api/v1/subjects").body).at("subjects");
  ASSERT_FALSE(subjects.empty());
  const std::string base = "/api/v1/subjects/" + std::string(subjects[0].at("id"));
  const json model = json::parse(Get(base + "/model").body);
  EXPECT_EQ(model.at("parts").at("format"), "assay report");
  const json same = json::parse(Get(base + "/model/since/" + std::string(model.at("version"))).body);
  EXPECT_EQ(same.at("parts"), json::object());
  const std::string uid = model.at("parts").at("runs").at("uid").at(0);
  EXPECT_EQ(json::parse(Get("/api/v1/runs/" + uid).body).at("uid"), uid);
  EXPECT_THAT(Get(base + "/report.csv").body, StartsWith("configuration,"));
  EXPECT_THAT(Get(base + "/report.parquet").body, EndsWith("PAR1"));
  for (const std::string& path : {base + "/report.html", base, base + "/model/x", base + "/model/since",
                                  std::string("/api/v1/"), std::string("/api/v1/runs/a/b"), std::string("/api")}) {
    EXPECT_EQ(Get(path).status, 404) << path;
  }
}

TEST_F(PageServerTest, StrangersAreToldWhatToDo) {
  cookie_.clear();
  const http::Response page = Get("/");
  EXPECT_EQ(page.status, 401);
  EXPECT_THAT(page.body, HasSubstr("open the link"));
  EXPECT_EQ(Get("/assets/report.js").status, 401);
  EXPECT_EQ(Get("/api/v1/events").status, 401);
}

TEST_F(PageServerTest, ConnectionsThatSayNothingShutNobodyOut) {
  server_ = PageServer::Start({.store_url = path_, .max_connections = 8}).value();
  std::vector<FileDescriptor> silent;
  for (int i = 0; i < 40; ++i) {
    silent.push_back(ConnectTo(Port()));
  }
  EXPECT_EQ(Get(server_->StartLink()).status, 303);
}

TEST_F(PageServerTest, WhoOwesABodyIsAnsweredAtOnce) {
  server_ = PageServer::Start({.store_url = path_, .max_connections = 8}).value();
  constexpr std::string_view kHead = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n";
  std::vector<FileDescriptor> owing;
  for (int i = 0; i < 40; ++i) {
    owing.push_back(ConnectTo(Port()));
    EXPECT_EQ(::send(owing.back().get(), kHead.data(), kHead.size(), MSG_NOSIGNAL), std::ssize(kHead));
  }
  EXPECT_EQ(Get(server_->StartLink()).status, 303);
  char answer[64] = {};
  EXPECT_GT(::recv(owing.front().get(), answer, sizeof(answer) - 1, 0), 0);
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 413 "));
}

TEST_F(PageServerTest, ListenersLeaveRoomForWhatTheyAskFor) {
  constexpr int kConnections = 8;
  server_ = PageServer::Start({.store_url = path_, .max_connections = kConnections}).value();
  Open();
  std::vector<FileDescriptor> listening;
  std::vector<std::string> answers;
  for (int i = 0; i < kConnections; ++i) {
    listening.push_back(Ask("/api/v1/events"));
    char answer[13] = {};
    EXPECT_EQ(::recv(listening.back().get(), answer, sizeof(answer) - 1, MSG_WAITALL), 12);
    answers.emplace_back(answer);
  }
  EXPECT_EQ(std::ranges::count(answers, "HTTP/1.1 200"), kConnections / 2);
  EXPECT_EQ(std::ranges::count(answers, "HTTP/1.1 503"), kConnections / 2);
  EXPECT_EQ(Get("/").status, 200);
}

/// What reads wait at while it is closed.
class Gate {
 public:
  void Pass() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    opens_.wait(lock, [this] { return is_open_; });
    --waiting_;
  }
  void Set(bool is_open) {
    {
      const std::lock_guard lock(mutex_);
      is_open_ = is_open;
    }
    opens_.notify_all();
  }
  int waiting() {
    const std::lock_guard lock(mutex_);
    return waiting_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable opens_;
  bool is_open_ = true;
  int waiting_ = 0;
};

/// As on a disk of another machine that has gone: reads neither end nor fail.
class BlockingStore : public samplestore::SqlStore {
 public:
  BlockingStore(const std::string& path, std::unique_ptr<samplestore::Connection> connection,
                std::shared_ptr<Gate> gate)
      : SqlStore(path, path + ".refused.jsonl", std::move(connection)), gate_(std::move(gate)) {}

  Status CheckSame() override {
    gate_->Pass();
    return SqlStore::CheckSame();
  }
  Result<std::vector<samplestore::Progress>> ListProgress() override {
    gate_->Pass();
    return SqlStore::ListProgress();
  }

 private:
  const std::shared_ptr<Gate> gate_;
};

class BlockedPageServerTest : public PageServerTest {
 protected:
  void SetUp() override {
    const auto open = [gate = gate_, path = path_]() -> Result<std::unique_ptr<samplestore::SampleStore>> {
      using samplestore::SqliteConnection;
      ASSAY_ASSIGN_OR_RETURN(auto connection, SqliteConnection::Open(path, SqliteConnection::Access::kReadOnly));
      return std::unique_ptr<samplestore::SampleStore>(new BlockingStore(path, std::move(connection), gate));
    };
    server_ = PageServer::Start(
                  {.open_store = open, .times = {.beat_seconds = 0.02, .long_seconds = 0.1}, .end_seconds = 0.1})
                  .value();
    Open();
  }
  /// Returns once who reads measurements and who reads what goes on wait.
  void Block() {
    gate_->Set(false);
    while (gate_->waiting() < 2) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  const std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();
};

TEST_F(BlockedPageServerTest, GivesSignsOfLifeAndAnswersOtherBrowsers) {
  const FileDescriptor before = Ask("/api/v1/events");
  Hear(before, "event: store");
  Block();
  const FileDescriptor asking = Ask("/api/v1/subjects");
  const FileDescriptor after = Ask("/api/v1/events");
  for (const FileDescriptor* listener : {&before, &after}) {
    Hear(*listener, R"({"text":"reading the store takes long)");
    Hear(*listener, "event: beat");
    Hear(*listener, "event: beat");
  }
  EXPECT_EQ(Get("/").status, 200);
  EXPECT_EQ(Get("/assets/report.js").status, 200);
  gate_->Set(true);
  Hear(before, "event: problem\ndata: {\"text\":\"\"}");
  Hear(asking, R"({"subjects":[{)");
}

TEST_F(BlockedPageServerTest, Ends) {
  Block();
  server_.reset();
  gate_->Set(true);
  while (gate_.use_count() > 1) {  // what waited is gone in the end
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

TEST_F(PageServerTest, AFurtherNameMayHaveAPort) {
  for (const char* name : {"pages.example", "localhost:8000", "[::1]:8000", "fe80::2"}) {
    EXPECT_TRUE(StartStatus({.names = {name}}).ok()) << name;
  }
  for (const char* name : {"", ":8000", "localhost:", "localhost:web", "localhost:0", "localhost:70000"}) {
    EXPECT_THAT(StartStatus({.names = {name}}).message(), HasSubstr("HOST:PORT")) << name;
  }
}

TEST_F(PageServerTest, AHostThatOthersReachNeedsAToken) {
  for (const char* host : {"0.0.0.0", "127.example.com", "127.0.0.1.example.com"}) {
    EXPECT_THAT(StartStatus({.host = host}).message(), HasSubstr("add --token-file")) << host;
  }
  const std::string file = folder_.path() + "/token";
  ASSERT_TRUE(WriteFileAtomically(file, "short\n").ok());
  ::chmod(file.c_str(), 0600);
  EXPECT_THAT(StartStatus({.token_file = file}).message(), HasSubstr("at least 32"));
  ASSERT_TRUE(WriteFileAtomically(file, std::string(32, 'a') + "\n").ok());
  ::chmod(file.c_str(), 0644);
  EXPECT_THAT(StartStatus({.token_file = file}).message(), HasSubstr("can be read by others"));
  ::chmod(file.c_str(), 0600);
  EXPECT_TRUE(StartStatus({.token_file = file}).ok());
  EXPECT_EQ(StartStatus({.token_file = folder_.path() + "/none"}).code(), ErrorCode::kNotFound);
}

TEST_F(PageServerTest, APortInUseIsALine) {
  const std::string message(StartStatus({.port = Port()}).message());
  EXPECT_THAT(message, HasSubstr(std::to_string(Port())));
  EXPECT_THAT(message, HasSubstr("in use"));
}

TEST_F(PageServerTest, AStoreThatIsNoneIsALine) {
  EXPECT_EQ(PageServer::Start({.store_url = folder_.path() + "/none.db"}).status().code(), ErrorCode::kNotFound);
}

}  // namespace
}  // namespace assay::serve
