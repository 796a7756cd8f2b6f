-- The requests of one case for wrk. Arguments: case, token, hash of the registered
-- text; pace/requests.go has the same requests. Prints one line:
-- requests a second, p50 and p99 in microseconds, answers that were no success.
local object = [[query($id: ID!){user(id: $id){id name email adminNotes avatar createdAt}}]]
local list = [[query($n: Int){users(first: $n){nodes{id name avatar createdAt posts(limit:5){id title kind minutes createdAt}}}}]]
local post = [[mutation($in: CreatePostInput!){createPost(input:$in){id authorId title kind createdAt}}]]
local user = [[mutation($in: CreateUserInput!){createUser(input:$in){id name email createdAt}}]]

local requests, n, case = {}, 0, ""

local function body(query, variables)
  return '{"query":"' .. query .. '","variables":' .. variables .. '}'
end

local function author(i) return string.format("user-%04d", i % 50) end

function init(args)
  case = args[1]
  wrk.headers["Content-Type"] = case ~= "apq" and "application/json" or nil
  wrk.headers["Apollo-Require-Preflight"] = case == "apq" and "true" or nil
  if args[2] ~= "" then wrk.headers["Authorization"] = "Bearer " .. args[2] end
  math.randomseed(os.time())
  n = math.random(1, 1000000) * 1000
  for i = 0, 49 do
    if case == "object" then
      requests[i] = wrk.format("POST", nil, nil, body(object, '{"id":"' .. author(i) .. '"}'))
    elseif case == "list" then
      requests[i] = wrk.format("POST", nil, nil, body(list, '{"n":20}'))
    elseif case == "apq" then
      local variables = '%7B%22id%22%3A%22' .. author(i) .. '%22%7D'
      local extensions = '%7B%22persistedQuery%22%3A%7B%22version%22%3A1%2C%22sha256Hash%22%3A%22' .. args[3] .. '%22%7D%7D'
      requests[i] = wrk.format("GET", wrk.path .. "?variables=" .. variables .. "&extensions=" .. extensions)
    elseif case == "post" then
      requests[i] = wrk.format("POST", nil, nil, body(post,
        '{"in":{"authorId":"' .. author(i) .. '","title":"A title of some length","body":"What it says in full: a paragraph of plain text.","kind":"NOTE"}}'))
    end
  end
end

function request()
  n = n + 1
  if case == "user" then
    return wrk.format("POST", nil, nil, body(user, string.format('{"in":{"id":"u%d","name":"User %d","email":"u%d@example.org"}}', n, n, n)))
  end
  return requests[n % 50]
end

function done(summary, latency)
  local e = summary.errors
  io.write(string.format("result %.0f %.0f %.0f %d\n", summary.requests * 1e6 / summary.duration,
    latency:percentile(50), latency:percentile(99), e.connect + e.read + e.write + e.status + e.timeout))
end
