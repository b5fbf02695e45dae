"""The console in `urls.py`: Django's logins, roles by a function, WSGI and ASGI, no WebSocket needed."""

from __future__ import annotations

USERS = """
from django.contrib.auth.models import User
from django.test import AsyncClient, Client
people = {name: User.objects.create(username=name, is_staff=name != "guest", is_superuser=name == "boss") for name in ("boss", "clerk", "guest")}
def client_of(name, kind=Client):
    made = kind()
    made.force_login(people[name])
    return made
job = count.enqueue()
own = {"HTTP_X_JOBTRAIL": "1", "HTTP_ORIGIN": "http://testserver", "content_type": "application/json"}
"""


def test_the_console_is_served_below_its_place_and_asks_django_who_somebody_is(shop):
    shop.python(USERS + """
clerk, guest, nobody = client_of("clerk"), client_of("guest"), Client(enforce_csrf_checks=True)
assert clerk.get("/jobs")["Location"] == "/jobs/"
page = clerk.get("/jobs/")
assert page.status_code == 200 and "Content-Security-Policy" in page.headers, page.headers
assert clerk.get("/jobs/api/jobs").json()["jobs"][0]["id"] == job.id
assert [one.get("/jobs/api/jobs").status_code for one in (guest, nobody)] == [401, 401]
assert clerk.post(f"/jobs/api/jobs/{job.id}/cancel", {"reason": "not now"}, content_type="application/json").status_code == 403, "without the header"
answer = clerk.post(f"/jobs/api/jobs/{job.id}/cancel", {"reason": "not now"}, **own)
assert answer.status_code == 200, answer.content
job.refresh()
assert str(job.status) == "cancelled"
assert "person:clerk" in {event.actor for event in job.events()}
stream = clerk.get("/jobs/api/live/events")
assert stream.status_code == 200 and stream.streaming, stream.headers
b"".join(stream.streaming_content)
""")


def test_roles_come_from_a_function_and_asgi_serves_the_same(shop):
    shop.python(USERS + """
import asyncio
from django.conf import settings
settings.JOBTRAIL = {**settings.JOBTRAIL, "ROLE": lambda user: "viewer" if user.username == "guest" else None}
guest = client_of("guest")
assert guest.get("/jobs/api/jobs").status_code == 200
assert guest.post(f"/jobs/api/jobs/{job.id}/cancel", {}, **own).status_code == 403
assert client_of("boss").get("/jobs/api/jobs").status_code == 401
client = client_of("guest", AsyncClient)
async def main():
    answer = await client.get("/jobs/api/jobs")
    assert answer.status_code == 200 and answer.json()["jobs"][0]["id"] == job.id
    stream = await client.get("/jobs/api/live/events")
    assert stream.status_code == 200 and stream.is_async
    async for chunk in stream.streaming_content:
        break
asyncio.run(main())
""")
