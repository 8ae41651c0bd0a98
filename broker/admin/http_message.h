// File: http_message.h
//
// A request and its answer as the admin API sees them: no sockets, so that
// tests and fuzzers call it directly.
//
//   HttpAnswer answer = api.Handle({"GET", "/v1/stats", {}, "", ""});
//
// Serves promise 4: every request has an answer, and its code says which.
#ifndef HOURGLASS_BROKER_ADMIN_HTTP_MESSAGE_H_
#define HOURGLASS_BROKER_ADMIN_HTTP_MESSAGE_H_

#include <map>
#include <string>

namespace hourglass {

struct HttpRequest {
  std::string method;  // "GET"
  std::string path;    // decoded, without the query
  std::map<std::string, std::string> query;
  std::string body;
  std::string authorization;  // the header's value
};

struct HttpAnswer {
  int status = 200;
  std::string body;
  std::string type = "application/json";
};

}  // namespace hourglass

#endif  // HOURGLASS_BROKER_ADMIN_HTTP_MESSAGE_H_
