"""An application for workers in processes of their own: the tasks of `api_app` over the database of BULK_URL."""

import os

from api_app import add_tasks

from jobtrail import JobTrail

jobs = add_tasks(JobTrail(os.environ["BULK_URL"], plugins=[], poll_interval=0.1))
